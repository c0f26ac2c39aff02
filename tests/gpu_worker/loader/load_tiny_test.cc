#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gpu_worker/loader/aligned_buffer.h"
#include "gpu_worker/loader/checkpoint.h"
#include "gpu_worker/loader/load_model.h"
#include "gpu_worker/loader/matrix_fill.h"
#include "kernels/exl3/exl3.h"
#include "tests/gpu_worker/loader/temp_dir.h"
#include "tests/support/sha256.h"

namespace hearth {
namespace {

using testing::ReadFile;
using testing::Sha256Hex;
using testing::TempDir;

const std::string kTiny = HEARTH_SOURCE_DIR "/models/hearth-tiny";

TEST(LoadTiny, LoadsEverything) {
  TempDir home;
  LoadOptions options;
  options.home.home_dir = home.path();
  std::vector<std::string> lines;
  options.log = [&](LogLevel level, const std::string& line) {
    EXPECT_NE(level, LogLevel::kWarning) << line;
    lines.push_back(line);
  };
  uint64_t done = 0, total = 0;
  options.progress = [&](uint64_t d, uint64_t t) {
    EXPECT_GE(d, done);
    done = d;
    total = t;
  };
  const LoadedModel model = LoadModel(kTiny, options);

  EXPECT_EQ(model.config.num_hidden_layers, 8);
  EXPECT_EQ(model.config.kda_layer_count(), 6);
  EXPECT_EQ(model.config.MlaIndex(7), 1);
  EXPECT_EQ(model.config.MlaIndex(6), -1);
  EXPECT_EQ(model.config.MoeIndex(3), 2);
  EXPECT_EQ(model.config.max_position_embeddings, 8192);
  EXPECT_EQ(model.generation.eos_ids, (std::vector<int32_t>{4060, 4067, 4069}));
  EXPECT_FLOAT_EQ(model.generation.top_p, 0.95f);

  ASSERT_EQ(model.weights.layers.size(), 8u);
  EXPECT_EQ(model.weights.embedding_kind, WeightKind::kF16);
  EXPECT_EQ(model.weights.head.bits, 6u);
  EXPECT_EQ(model.weights.head.out_features, 4096);
  for (int i = 0; i < 8; ++i) {
    const LayerWeights& layer = model.weights.layers[i];
    EXPECT_EQ(layer.kda.has_value(), i % 4 != 3) << i;
    EXPECT_EQ(layer.mla.has_value(), i % 4 == 3) << i;
    EXPECT_EQ(layer.dense.has_value(), i == 0) << i;
    EXPECT_EQ(layer.shared.has_value(), i > 0) << i;
    EXPECT_EQ(layer.router != nullptr, i > 0) << i;
  }
  EXPECT_EQ(model.weights.layers[0].kda->qkv.size(), 1u);
  EXPECT_EQ(model.weights.layers[0].kda->qkv[0].out_features, 3 * 256);
  ASSERT_TRUE(model.weights.layers[3].mla->indexer.has_value());
  EXPECT_EQ(model.weights.layers[3].mla->indexer->gate.kind, WeightKind::kF32);

  const HomeView& view = model.home.view();
  EXPECT_EQ(view.layers(), 7u);
  EXPECT_EQ(view.experts(), 32u);
  EXPECT_EQ(view.header().swiglu_limit, 10.0f);
  EXPECT_FALSE(model.home.adopted());
  EXPECT_EQ(model.fingerprint.size(), 32u);
  EXPECT_EQ(model.home.path(), home / ("hearth-home-" + model.fingerprint.substr(0, 16)));
  for (uint32_t layer = 0; layer < view.layers(); ++layer) {
    for (uint32_t expert = 0; expert < view.experts(); ++expert) {
      ASSERT_EQ(view.Checksum(layer, expert), view.entry(layer, expert).checksum);
      const MlpView mlp = view.Expert(layer, expert);
      ASSERT_EQ(mlp.gate.kind, WeightKind::kExl3);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(mlp.down.data) % 64, 0u);
      ASSERT_NE(mlp.down.svh, nullptr);
    }
  }
  EXPECT_EQ(done, total);
  EXPECT_GT(total, 10'000'000u);
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines.back().find("loaded in "), std::string::npos) << lines.back();
}

// Through the whole chain: files, index, repacking, decoding.
TEST(LoadTiny, DecodesToTheDigestsOfTheOracle) {
  const auto oracle = nlohmann::json::parse(ReadFile(HEARTH_SOURCE_DIR "/tests/golden/exl3_inner_sha256.json"));
  const Checkpoint checkpoint(kTiny);
  MatrixPlanner planner(checkpoint);
  size_t checked = 0;
  for (const auto& module : oracle["modules"]) {
    const std::string name = module["module"];
    const MatrixPlan plan = planner.Matrix(name, module["in_features"], module["out_features"]);
    EXPECT_EQ(plan.bits, module["K"].get<uint32_t>()) << name;
    EXPECT_EQ(plan.codebook, Codebook::kMul1) << name;
    MatrixView view = plan.Geometry(WeightKind::kF32);
    AlignedBuffer strips(static_cast<size_t>(view.bytes()));
    FillStrips(checkpoint, plan, WeightKind::kF32, strips.data());
    view.data = strips.data();
    std::vector<uint16_t> q(static_cast<size_t>(view.in_padded * view.out_padded));
    kernels::Exl3DecodeInner(view, q.data());
    EXPECT_EQ(Sha256Hex(q.data(), q.size() * 2), module["inner_f16_sha256"]) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 4u);
}

}  // namespace
}  // namespace hearth
