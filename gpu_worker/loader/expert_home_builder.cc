#include "gpu_worker/loader/expert_home_builder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "common/base/unique_fd.h"
#include "common/parallel/parallel_for.h"
#include "gpu_worker/loader/expert_record.h"
#include "gpu_worker/loader/home_space.h"

namespace hearth {
namespace {

[[noreturn]] void Refuse(const std::string& reason) { throw StartupError("expert home: " + reason); }

void Say(const HomeOptions& options, LogLevel level, const std::string& text) {
  if (options.log) options.log(level, text);
}

// Holds the home's lock file. A supervisor may remove both files while we wait, so the lock counts only while its name
// still leads to it.
SharedFile TakeLock(const std::string& path, const HomeOptions& options) {
  const Deadline deadline = Deadline::After(options.lock_wait);
  for (int round = 0; round < 100; ++round) {
    SharedFile::CreateOptions create;
    create.existing = SharedFile::Existing::kReuse;
    create.any_size = true;  // whoever made it may have died before it had one
    Result<SharedFile> lock = SharedFile::Create(path, 1, create);
    if (!lock.ok()) Refuse(lock.status().message() + "; choose another directory with --home-dir");
    const Status locked = lock->TryLockFor(SharedFile::LockKind::kExclusive, deadline);
    if (!locked.ok()) {
      Refuse(StrCat(path, ": another worker held the lock for ", options.lock_wait.count() / 1000.0,
                    " s; stop it, or choose another --home-dir"));
    }
    if (lock->IsLinked()) return *std::move(lock);
  }
  Refuse(path + ": the lock file keeps vanishing");
}

uint64_t RecordIndex(const HomeHeader& h, uint32_t layer, uint32_t expert) {
  return uint64_t{layer} * h.experts + expert;
}

// The home's tables must be the planned ones. What one of them has differently, "" when nothing.
std::string TablesProblem(const HomePlan& plan, const HomeView& view) {
  HomeHeader header = view.header();
  header.complete = 0;
  if (std::memcmp(&header, &plan.header, sizeof header) != 0) return "its header differs";
  for (uint32_t layer = 0; layer < header.layers; ++layer) {
    for (uint32_t e = 0; e < header.experts; ++e) {
      HomeExpert entry = view.entry(layer, e);
      entry.checksum = entry.source_stamp = 0;
      if (std::memcmp(&entry, &plan.directory[RecordIndex(header, layer, e)], sizeof entry) != 0) {
        return StrCat("the entry of expert ", e, " of layer ", layer, " differs");
      }
    }
  }
  return "";
}

// Records whose files may have changed since the home was made or last compared; then one of each layer, whatever its
// files say.
struct RecordsToCompare {
  std::vector<uint64_t> changed, samples;
};

RecordsToCompare ChooseRecords(const TensorSource& source, const std::vector<ExpertPlan>& experts, const HomeView& view,
                               const HomeOptions& options) {
  const HomeHeader& h = view.header();
  RecordsToCompare chosen;
  std::mt19937_64 random(options.sample_seed ? *options.sample_seed : std::random_device{}());
  for (uint32_t layer = 0; layer < h.layers; ++layer) {
    for (uint32_t e = 0; e < h.experts; ++e) {
      const uint64_t i = RecordIndex(h, layer, e);
      if (view.entry(layer, e).source_stamp != ExpertStamp(source, experts[i])) chosen.changed.push_back(i);
    }
    chosen.samples.push_back(RecordIndex(h, layer, static_cast<uint32_t>(random() % h.experts)));
  }
  return chosen;
}

// The tables first; then the chosen records must be what the checkpoint gives and have their checksums.
std::string AdoptionProblem(const TensorSource& source, const std::vector<ExpertPlan>& experts, const HomePlan& plan,
                            const HomeView& view, std::byte* base, const HomeOptions& options) {
  if (std::string problem = TablesProblem(plan, view); !problem.empty()) return problem;
  const HomeHeader& h = view.header();
  struct Different {
    std::string problem;
  };
  const auto compare = [&](uint64_t i) {
    const auto layer = static_cast<uint32_t>(i / h.experts), expert = static_cast<uint32_t>(i % h.experts);
    const HomeExpert& entry = view.entry(layer, expert);
    std::string problem = CompareExpert(source, experts[i], entry, view.record(layer, expert), base);
    if (!problem.empty()) throw Different{std::move(problem)};
    if (view.Checksum(layer, expert) != entry.checksum) {
      throw Different{StrCat("the checksum of expert ", expert, " of layer ", layer, " differs")};
    }
  };
  const RecordsToCompare chosen = ChooseRecords(source, experts, view, options);
  if (!chosen.changed.empty()) {
    Say(options, LogLevel::kInfo,
        StrCat("expert home: the checkpoint's files have changed since it was made; comparing ", chosen.changed.size(),
               " of ", experts.size(), " experts"));
  }
  try {
    ParallelFor(static_cast<int64_t>(chosen.samples.size()),
                [&](int64_t k) { compare(chosen.samples[static_cast<size_t>(k)]); });
    ParallelFor(static_cast<int64_t>(chosen.changed.size()), [&](int64_t k) {
      const uint64_t i = chosen.changed[static_cast<size_t>(k)];
      compare(i);
      if (options.add_bytes) options.add_bytes(ExpertBytes({experts[i]}));
    });
  } catch (const Different& different) {
    return different.problem;
  }
  auto* directory = reinterpret_cast<HomeExpert*>(base + h.directory_offset);
  for (uint64_t i : chosen.changed) directory[i].source_stamp = ExpertStamp(source, experts[i]);
  return "";
}

// Fills a fresh file. Memory of the next layer is taken while the current one is written.
void FillHome(const TensorSource& source, const std::vector<ExpertPlan>& experts, const HomePlan& plan,
              SharedFile& file, const HomeOptions& options) {
  const HomeHeader& h = plan.header;
  const auto reserve = [&](uint64_t offset, uint64_t bytes) {
    if (Status status = file.Reserve(offset, bytes); !status.ok()) {
      Refuse(StrCat(status.message(), "; it needs ", FormatBytes(h.total_bytes),
                    " in all: enlarge the mount or choose a larger tmpfs with --home-dir"));
    }
  };
  const uint64_t layer_bytes = h.experts * h.record_stride;
  const auto reserve_layer = [&](uint32_t layer) { reserve(h.records_offset + layer * layer_bytes, layer_bytes); };
  reserve(0, h.records_offset);
  reserve_layer(0);

  std::byte* base = file.bytes().data();
  std::memcpy(base, &h, sizeof h);
  auto* directory = reinterpret_cast<HomeExpert*>(base + h.directory_offset);
  std::memcpy(directory, plan.directory.data(), plan.directory.size() * sizeof(HomeExpert));
  const auto fill_layer = [&](uint32_t layer) {
    ParallelFor(h.experts, [&](int64_t e) {
      const uint64_t i = RecordIndex(h, layer, static_cast<uint32_t>(e));
      std::byte* record = base + h.records_offset + i * h.record_stride;
      FillExpert(source, experts[i], directory[i], record, base);
      directory[i].checksum = HomeRecordChecksum(directory[i], record, base);
      directory[i].source_stamp = ExpertStamp(source, experts[i]);
      if (options.add_bytes) options.add_bytes(ExpertBytes({experts[i]}));
    });
    auto& filled = reinterpret_cast<uint32_t*>(base + h.filled_offset)[layer];
    std::atomic_ref<uint32_t>(filled).store(1, std::memory_order_release);
  };
  for (uint32_t layer = 0; layer < h.layers; ++layer) {
    ParallelInvoke([&] { fill_layer(layer); },
                   [&] {
                     if (layer + 1 < h.layers) reserve_layer(layer + 1);
                   });
  }
  auto& complete = reinterpret_cast<HomeHeader*>(base)->complete;
  std::atomic_ref<uint64_t>(complete).store(kHomeComplete, std::memory_order_release);
}

SharedFile CreateHome(const TensorSource& source, const std::vector<ExpertPlan>& experts, const HomePlan& plan,
                      const std::string& path, const HomeOptions& options) {
  CheckHomeSpace(options.home_dir, plan.header.total_bytes);
  SharedFile::CreateOptions create;
  create.huge_pages = true;
  Result<SharedFile> file = SharedFile::Create(path, plan.header.total_bytes, create);
  if (!file.ok()) Refuse(file.status().message());
  try {
    FillHome(source, experts, plan, *file, options);
  } catch (...) {
    file->Remove();  // half a home is of no use to anybody
    throw;
  }
  return *std::move(file);
}

// The home at `path` when it is complete and ours. Anything else under that name is taken away, with a warning; its
// memory stays with whoever still maps it.
std::optional<std::pair<SharedFile, HomeView>> AdoptHome(const TensorSource& source,
                                                         const std::vector<ExpertPlan>& experts, const HomePlan& plan,
                                                         const std::string& path, const HomeOptions& options) {
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  Result<SharedFile> file = SharedFile::OpenExisting(path, SharedFile::Access::kReadWrite, true);
  std::string problem;
  if (file.ok()) {
    Result<HomeView> view = HomeView::Open(file->bytes().data(), file->size(), plan.header.fingerprint);
    problem = view.ok() ? AdoptionProblem(source, experts, plan, *view, file->bytes().data(), options)
                        : view.status().message();
    if (problem.empty()) {
      Say(options, LogLevel::kInfo, StrCat("expert home adopted: ", path, ", ", FormatBytes(file->size())));
      return std::pair(*std::move(file), *view);
    }
  } else {
    problem = file.status().message();
  }
  Say(options, LogLevel::kWarning, StrCat(path, ": cannot be adopted (", problem, "), it is made anew"));
  if (::unlink(path.c_str()) != 0) Refuse(path + ": cannot be replaced: " + std::strerror(errno));
  return std::nullopt;
}

}  // namespace

std::string HomePath(const std::string& home_dir, const HomePlan& plan) {
  return home_dir + "/hearth-home-" + std::string(plan.header.fingerprint, 16);
}

uint64_t HomeBytesToCome(const HomePlan& plan, const HomeOptions& options) {
  const UniqueFd fd(::open(HomePath(options.home_dir, plan).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts = {};
  if (!fd.valid() || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return plan.header.total_bytes;
  HomeHeader header;
  const bool whole = ::pread(fd.get(), &header, sizeof header, 0) == ssize_t{sizeof header} &&
                     header.complete == kHomeComplete && header.total_bytes == plan.header.total_bytes;
  constexpr uint64_t kBlock = 512;  // of st_blocks, whatever the file system
  return whole ? 0 : plan.header.total_bytes - std::min(plan.header.total_bytes, uint64_t(facts.st_blocks) * kBlock);
}

void CheckRoomForHome(const HomePlan& plan, const HomeOptions& options) {
  CheckHomeSpace(options.home_dir, HomeBytesToCome(plan, options));
}

ExpertHome OpenExpertHome(const TensorSource& source, const std::vector<ExpertPlan>& experts, const HomePlan& plan,
                          const HomeOptions& options) {
  const std::string path = HomePath(options.home_dir, plan);
  CheckHomeSpace(options.home_dir, 0);
  SharedFile lock = TakeLock(path + ".lock", options);
  try {
    if (auto adopted = AdoptHome(source, experts, plan, path, options)) {
      return ExpertHome(std::move(adopted->first), std::move(lock), adopted->second, true);
    }
    SharedFile file = CreateHome(source, experts, plan, path, options);
    Result<HomeView> view = HomeView::Open(file.bytes().data(), file.size(), plan.header.fingerprint);
    HEARTH_CHECK(view.ok(), view.status().ToString());
    return ExpertHome(std::move(file), std::move(lock), *view, false);
  } catch (...) {
    if (::access(path.c_str(), F_OK) != 0) lock.Remove();  // nothing is left that it could guard
    throw;
  }
}

}  // namespace hearth
