#include "gpu_worker/loader/expert_home_builder.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/base/scope_exit.h"
#include "common/base/startup_error.h"
#include "gpu_worker/loader/checkpoint.h"
#include "gpu_worker/loader/expert_record.h"
#include "gpu_worker/loader/home_space.h"
#include "gpu_worker/loader/load_model.h"
#include "tests/gpu_worker/loader/checkpoint_editor.h"
#include "tests/gpu_worker/loader/temp_dir.h"

namespace hearth {
namespace {

using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

namespace fs = std::filesystem;

class HomeBuilder : public ::testing::Test {
 protected:
  HomeBuilder()
      : checkpoint_(HEARTH_SOURCE_DIR "/models/hearth-tiny"),
        config_(*ParseModelConfig(checkpoint_.config_text())),
        planner_(checkpoint_),
        experts_(PlanExperts(config_, planner_)),
        plan_(PlanHome(config_, experts_, checkpoint_.Fingerprint())) {
    options_.home_dir = home_.path();
    options_.log = [this](LogLevel level, const std::string& line) {
      (level == LogLevel::kWarning ? warnings_ : infos_) += line + "\n";
    };
  }

  ExpertHome Open() { return OpenExpertHome(checkpoint_, experts_, plan_, options_); }
  std::string path() const { return HomePath(home_.path(), plan_); }

  std::string Refusal() {
    try {
      Open();
    } catch (const StartupError& error) {
      return error.what();
    }
    return "";
  }

  // Changes one byte of the file.
  void Flip(uint64_t offset) {
    std::string bytes = ReadFile(path());
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
    WriteFile(path(), bytes);
  }

  TempDir home_;
  Checkpoint checkpoint_;
  ModelConfig config_;
  MatrixPlanner planner_;
  std::vector<ExpertPlan> experts_;
  HomePlan plan_;
  HomeOptions options_;
  std::string infos_, warnings_;
};

TEST_F(HomeBuilder, CreatesThenAdopts) {
  std::string first, second;
  {
    const ExpertHome home = Open();
    EXPECT_FALSE(home.adopted());
    EXPECT_EQ(home.path(), path());
    EXPECT_EQ(fs::file_size(path()), plan_.header.total_bytes);
    first = ReadFile(path());
  }
  uint64_t read = 0;
  options_.add_bytes = [&](uint64_t bytes) { read += bytes; };
  {
    const ExpertHome home = Open();
    EXPECT_TRUE(home.adopted());
    second = ReadFile(path());
  }
  EXPECT_EQ(read, 0u);
  EXPECT_TRUE(first == second);
  EXPECT_NE(infos_.find("adopted"), std::string::npos);
  EXPECT_EQ(warnings_, "");
}

TEST_F(HomeBuilder, ReadsEachExpertOnce) {
  std::atomic<uint64_t> read = 0;
  options_.add_bytes = [&](uint64_t bytes) { read += bytes; };
  Open();
  EXPECT_EQ(read.load(), ExpertBytes(experts_));
}

TEST_F(HomeBuilder, NoticesForeignBytes) {
  Open();
  // The sampled record of a layer is chosen by a seed; with the byte wrong in all records any seed meets it.
  const HomeHeader& h = plan_.header;
  for (uint32_t e = 0; e < h.experts; ++e) Flip(h.records_offset + (2 * h.experts + e) * h.record_stride + 77);
  const ExpertHome home = Open();
  EXPECT_FALSE(home.adopted());
  EXPECT_NE(warnings_.find("layers.3.mlp.experts."), std::string::npos) << warnings_;
  EXPECT_NE(warnings_.find("differs"), std::string::npos) << warnings_;
  for (uint32_t e = 0; e < h.experts; ++e) {
    EXPECT_EQ(home.view().Checksum(2, e), home.view().entry(2, e).checksum);
  }
}

TEST_F(HomeBuilder, NoticesForeignScalesAndTables) {
  Open();
  for (uint64_t offset : {plan_.directory[0].gate.suh_offset, plan_.header.directory_offset + 4,
                          uint64_t{offsetof(HomeHeader, swiglu_limit)}, uint64_t{0}}) {
    warnings_.clear();
    Flip(offset);
    for (uint32_t e = 1; offset == plan_.directory[0].gate.suh_offset && e < plan_.header.experts; ++e) {
      Flip(plan_.directory[e].gate.suh_offset);
    }
    EXPECT_FALSE(Open().adopted()) << offset;
    EXPECT_NE(warnings_.find("made anew"), std::string::npos) << offset << warnings_;
    EXPECT_TRUE(Open().adopted()) << offset;
  }
}

TEST_F(HomeBuilder, ChecksumFindsOneFlippedBit) {
  ExpertHome home = Open();
  const HomeHeader& h = plan_.header;
  auto* byte = const_cast<std::byte*>(home.data()) + h.records_offset + (40 * h.record_stride + 1000);
  *byte ^= std::byte{16};
  EXPECT_NE(home.view().Checksum(1, 8), home.view().entry(1, 8).checksum);
  *byte ^= std::byte{16};
  EXPECT_EQ(home.view().Checksum(1, 8), home.view().entry(1, 8).checksum);
}

// A worker that died while filling leaves `complete` at 0.
TEST_F(HomeBuilder, IncompleteLeftoverIsMadeAnew) {
  { Open(); }
  const std::string whole = ReadFile(path());
  std::string partial = whole;
  std::memset(partial.data() + offsetof(HomeHeader, complete), 0, 8);
  std::memset(partial.data() + plan_.header.filled_offset + 4 * 5, 0, 8);
  std::memset(partial.data() + partial.size() / 2, 0, partial.size() / 2);
  WriteFile(path(), partial);
  {
    const ExpertHome home = Open();
    EXPECT_FALSE(home.adopted());
    EXPECT_NE(warnings_.find("not complete"), std::string::npos) << warnings_;
  }
  EXPECT_TRUE(ReadFile(path()) == whole);

  for (size_t size : {size_t{0}, size_t{100}, whole.size() - 4096}) {  // cut short
    fs::resize_file(path(), size);
    EXPECT_FALSE(Open().adopted()) << size;
    EXPECT_TRUE(ReadFile(path()) == whole);
  }
}

TEST_F(HomeBuilder, WhatIsStillToComeIsCounted) {
  const uint64_t all = plan_.header.total_bytes;
  EXPECT_EQ(HomeBytesToCome(plan_, options_), all);
  WriteFile(path(), "");
  EXPECT_EQ(HomeBytesToCome(plan_, options_), all) << "a name alone holds nothing";
  WriteFile(path(), std::string(1 << 20, 'x'));
  EXPECT_EQ(HomeBytesToCome(plan_, options_), all - (1 << 20)) << "what is made anew comes free first";
  Open();
  EXPECT_EQ(HomeBytesToCome(plan_, options_), 0u);
}

TEST_F(HomeBuilder, ALockOfAnySizeWillDo) {
  for (const char* content : {"", "xy"}) {
    WriteFile(path() + ".lock", content);
    EXPECT_EQ(Refusal(), "") << content;
  }
}

TEST_F(HomeBuilder, LeavesHomesOfOtherModelsAlone) {
  const std::string other = home_ / "hearth-home-0123456789abcdef";
  WriteFile(other, "somebody else's");
  Open();
  EXPECT_EQ(ReadFile(other), "somebody else's");
}

TEST_F(HomeBuilder, WaitsForThePredecessorAndGivesUp) {
  std::optional<ExpertHome> holder(Open());
  options_.lock_wait = std::chrono::milliseconds(50);
  EXPECT_NE(Refusal().find("held the lock"), std::string::npos) << Refusal();
  EXPECT_NE(Refusal().find("--home-dir"), std::string::npos);
  EXPECT_TRUE(fs::exists(path()));
  holder.reset();
  EXPECT_TRUE(Open().adopted());
}

TEST_F(HomeBuilder, MissingDirectory) {
  options_.home_dir = home_ / "nowhere";
  EXPECT_NE(Refusal().find("nowhere is no directory"), std::string::npos) << Refusal();
}

TEST_F(HomeBuilder, FingerprintCoversSourceAndGeometry) {
  const std::string first(plan_.header.fingerprint);
  EXPECT_NE(std::string(PlanHome(config_, experts_, "another").header.fingerprint), first);
  std::vector<ExpertPlan> experts = experts_;
  experts[3].up.codebook = Codebook::kMcg;
  EXPECT_NE(std::string(PlanHome(config_, experts, checkpoint_.Fingerprint()).header.fingerprint), first);
}

// A checkpoint of its own in one file, whose experts share their times.
class ChangedShard : public HomeBuilder {
 protected:
  ChangedShard() { testing::CheckpointEditor(HEARTH_SOURCE_DIR "/models/hearth-tiny").Write(model_.path()); }

  // As a new process does it.
  bool Adopts() {
    const Checkpoint checkpoint(model_.path());
    MatrixPlanner planner(checkpoint);
    const std::vector<ExpertPlan> experts = PlanExperts(config_, planner);
    const HomePlan plan = PlanHome(config_, experts, checkpoint.Fingerprint());
    compared_ = 0;
    options_.add_bytes = [&](uint64_t) { ++compared_; };
    const ExpertHome home = OpenExpertHome(checkpoint, experts, plan, options_);
    for (uint32_t layer = 0; layer < home.view().layers(); ++layer) {
      for (uint32_t e = 0; e < home.view().experts(); ++e) {
        const ExpertPlan& expert = experts[layer * home.view().experts() + e];
        EXPECT_EQ(
            CompareExpert(checkpoint, expert, home.view().entry(layer, e), home.view().record(layer, e), home.data()),
            "");
      }
    }
    return home.adopted();
  }

  // One byte in the middle of one expert's data, everything else as it was, the modification time too.
  void Damage() {
    uint64_t at = 0;
    {
      const Checkpoint checkpoint(model_.path());
      MatrixPlanner planner(checkpoint);
      const TensorInfo* data = PlanExperts(config_, planner)[5].up.data;
      at = data->offset + data->bytes / 2;
    }
    const auto time = fs::last_write_time(shard());
    std::fstream file(shard(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.close();
    fs::last_write_time(shard(), time);
  }
  std::string shard() const { return model_ / "model.safetensors"; }

  TempDir model_;
  std::atomic<size_t> compared_ = 0;
};

TEST_F(ChangedShard, ThatIsMendedMakesTheHomeAnew) {
  Damage();
  EXPECT_FALSE(Adopts());
  EXPECT_TRUE(Adopts());
  EXPECT_EQ(compared_.load(), 0u);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // file times are as coarse as the kernel's tick
  Damage();                                                    // twice is not at all
  EXPECT_FALSE(Adopts());
  EXPECT_NE(warnings_.find("differs"), std::string::npos) << warnings_;
  EXPECT_TRUE(Adopts());
}

TEST_F(ChangedShard, OfTheSameBytesIsComparedOnceAndAdopted) {
  EXPECT_FALSE(Adopts());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  WriteFile(shard(), ReadFile(shard()));
  EXPECT_TRUE(Adopts());
  EXPECT_EQ(compared_.load(), experts_.size());
  EXPECT_NE(infos_.find(StrCat("comparing ", experts_.size(), " of ", experts_.size(), " experts")), std::string::npos)
      << infos_;
  EXPECT_TRUE(Adopts());
  EXPECT_EQ(compared_.load(), 0u);
  EXPECT_EQ(warnings_, "");
}

TEST(HomeSpace, SaysTheSumAndTheOption) {
  EXPECT_EQ(HomeSpaceProblem("/dev/shm", 100, 100), "");
  const std::string problem = HomeSpaceProblem("/dev/shm", 3 * 1024 * 1024, 1024 * 1024);
  for (const char* part : {"3 MiB", "1 MiB", "/dev/shm", "--home-dir"}) {
    EXPECT_NE(problem.find(part), std::string::npos) << problem;
  }
}

// Nothing may be written to a mount that is too small, and nothing may stay.
TEST(HomeSpace, SmallMountIsRefusedBeforeLoading) {
  TempDir directory;
  if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "a tmpfs cannot be mounted here: " << std::strerror(errno);
  }
  const ScopeExit unmount([&] { ::umount2(directory.path().c_str(), MNT_DETACH); });
  LoadOptions options;
  options.home.home_dir = directory.path();
  uint64_t reports = 0;
  options.progress = [&](uint64_t, uint64_t) { ++reports; };
  std::string text;
  try {
    LoadModel(HEARTH_SOURCE_DIR "/models/hearth-tiny", options);
  } catch (const StartupError& error) {
    text = error.what();
  }
  for (const char* part : {"expert home", "needs", "1 MiB", "--home-dir"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(reports, 0u);
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

}  // namespace
}  // namespace hearth
