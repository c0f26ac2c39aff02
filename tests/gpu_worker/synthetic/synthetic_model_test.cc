#include "gpu_worker/synthetic/model_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "common/base/startup_error.h"
#include "gpu_worker/loader/load_model.h"
#include "tests/gpu_worker/loader/temp_dir.h"
#include "tests/support/model_runner.h"
#include "tools/synthetic/write_checkpoint.h"

namespace hearth::testing {
namespace {

constexpr char kSmall[] = HEARTH_SOURCE_DIR "/tools/synthetic/small_shape.json";
constexpr char kDeep[] = HEARTH_SOURCE_DIR "/tools/synthetic/deep_shape.json";
constexpr char kReal[] = HEARTH_SOURCE_DIR "/tools/synthetic/real_shape.json";

LoadedModel Load(const std::string& model, const std::string& home_dir) {
  const ModelFiles files = OpenModel(model);
  LoadOptions options;
  options.home.home_dir = home_dir;
  options.log = [](LogLevel level, const std::string& text) { EXPECT_LT(level, LogLevel::kWarning) << text; };
  return LoadModel(files.config, files.generation, *files.tensors, options);
}

std::vector<int32_t> RandomTokens(size_t count, int vocab) {
  std::mt19937_64 random(17);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % static_cast<uint64_t>(vocab));
  return tokens;
}

std::string Refusal(const std::string& model) {
  try {
    OpenModel(model);
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(SyntheticModel, HomeIsAdoptedAndTheSameCheckpointOnDiskHasTheSameWeights) {
  const TemporaryHome home;
  const TempDir disk;
  std::vector<kernels::Real> expected;
  const std::vector<int32_t> tokens = RandomTokens(40, 4096);
  const auto run = [&](LoadedModel& model) {
    return ModelRunner(model, kernels::RefBackend(), {.pool_tokens = 256}).Run(tokens, 32);
  };
  {
    LoadedModel model = Load(std::string(kSyntheticPrefix) + kSmall, home.path());
    EXPECT_FALSE(model.home.adopted());
    expected = run(model);
    for (kernels::Real logit : expected) ASSERT_TRUE(std::isfinite(logit));
  }
  {
    LoadedModel model = Load(std::string(kSyntheticPrefix) + kSmall, home.path());
    EXPECT_TRUE(model.home.adopted());
    for (uint32_t layer = 0; layer < model.home.view().layers(); ++layer) {
      EXPECT_EQ(model.home.view().Checksum(layer, 5), model.home.view().entry(layer, 5).checksum);
    }
  }
  WriteCheckpoint(kSmall, disk / "model", 2'000'000, {});
  LoadedModel model = Load(disk / "model", home.path());
  EXPECT_FALSE(model.home.adopted());
  EXPECT_EQ(run(model), expected);
  EXPECT_THROW(WriteCheckpoint(kSmall, disk / "model", 2'000'000, {}), StartupError);
}

// Depth, routing and mixing of the real model, at a small width.
TEST(SyntheticModel, ActivationsAreSaneThroughAllLayersAndExpertsAreTouched) {
  const TemporaryHome home;
  LoadedModel model = Load(std::string(kSyntheticPrefix) + kDeep, home.path());
  const kernels::Backend& backend = kernels::HostHasAvx2() ? kernels::Avx2Backend() : kernels::RefBackend();
  ModelRunner runner(model, backend, {.chunk_size = 1024, .slots = 1, .pool_tokens = 1024});
  std::map<std::string, std::pair<double, size_t>> squares;
  std::map<std::string, std::set<int>> touched;
  runner.decoder().set_tap([&](const std::string& name, const kernels::Real* values, int64_t rows, int64_t width) {
    const auto count = static_cast<size_t>(rows * width);
    if (name.ends_with(".router_ids")) touched[name].insert(values, values + count);
    if (!name.ends_with(".streams")) return;
    for (size_t i = 0; i < count; ++i) squares[name].first += double{values[i]} * values[i];
    squares[name].second += count;
  });
  runner.Run(RandomTokens(1000, model.config.vocab_size), 1000);
  ASSERT_EQ(squares.size(), static_cast<size_t>(model.config.num_hidden_layers));
  ASSERT_EQ(touched.size(), 42u);
  double least = 1e9, most = 0;
  for (const auto& [name, sum] : squares) {
    const double rms = std::sqrt(sum.first / static_cast<double>(sum.second));
    EXPECT_GE(rms, 0.1) << name;
    EXPECT_LE(rms, 10) << name;
    least = std::min(least, rms);
    most = std::max(most, rms);
  }
  size_t fewest = 288;
  for (const auto& [name, ids] : touched) {
    EXPECT_GE(ids.size(), 200u) << name;
    fewest = std::min(fewest, ids.size());
  }
  std::printf("rms of the streams %.2f to %.2f, at least %zu experts of a layer touched\n", least, most, fewest);
}

TEST(SyntheticModel, RealShapeHasTheSizesOfTheRealPack) {
  const ModelFiles files = OpenModel(std::string(kSyntheticPrefix) + kReal);
  EXPECT_TRUE(files.synthetic);
  MatrixPlanner planner(*files.tensors);
  const std::vector<ExpertPlan> experts = PlanExperts(files.config, planner);
  EXPECT_EQ(experts.size(), 12096u);
  const HomePlan home = PlanHome(files.config, experts, files.tensors->Fingerprint());
  EXPECT_EQ(home.header.record_stride, 9'437'184u);
  EXPECT_EQ(files.tensors->Find("lm_head.trellis")->bytes, 475'791'360u);
  EXPECT_EQ(files.tensors->Find("model.language_model.layers.3.self_attn.q_b_proj.trellis")->bytes, 15'728'640u);
  uint64_t total = 0;
  for (const std::string& name : files.tensors->Names()) total += files.tensors->Find(name)->bytes;
  // docs/formats/exl3.md: 122,286,101,684 bytes are indexed in the real pack, a vision tower of about 0.6 GB among
  // them.
  EXPECT_NEAR(static_cast<double>(total), 122.286e9, 1.3e9);
}

TEST(SyntheticModel, NonsenseIsRefusedByName) {
  const TempDir dir;
  const auto with = [&](auto change) {
    nlohmann::json config = nlohmann::json::parse(std::ifstream(kSmall));
    change(config);
    WriteFile(dir / "shape.json", config.dump());
    return Refusal(StrCat(kSyntheticPrefix, dir / "shape.json"));
  };
  EXPECT_EQ(with([](auto&) {}), "");
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  expect(Refusal("synthetic:/nowhere.json"), "/nowhere.json: does not exist");
  expect(with([](auto& c) { c.erase("hearth_synthetic"); }), "hearth_synthetic is missing");
  expect(with([](auto& c) { c["hearth_synthetic"]["expert_bits"] = 9; }), "expert_bits is 9");
  expect(with([](auto& c) { c["hearth_synthetic"]["router_zipf"] = -1; }), "router_zipf is -1");
  expect(with([](auto& c) { c["hearth_synthetic"]["bits"] = 3; }), "\"bits\" is unknown");
  expect(with([](auto& c) { c["text_config"]["n_group"] = 2; }), "n_group is 2");
  expect(with([](auto& c) { c["text_config"].erase("hidden_size"); }), "hidden_size is missing");
}

}  // namespace
}  // namespace hearth::testing
