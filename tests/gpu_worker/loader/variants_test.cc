// Checkpoints of other shapes, made by tests/support/make_checkpoint.py. The numpy reference says what each matrix is.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/base/float16.h"
#include "gpu_worker/loader/checkpoint.h"
#include "gpu_worker/loader/load_model.h"
#include "gpu_worker/loader/matrix_fill.h"
#include "tests/gpu_worker/loader/temp_dir.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/sha256.h"

namespace hearth {
namespace {

using testing::TempDir;

class Variant : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = testing::PythonMissing(); !reason.empty()) GTEST_SKIP() << reason;
    ASSERT_EQ(testing::MakeCheckpoint(GetParam(), directory_.path()), "");
  }
  void LoadsWithoutWarnings();
  void MatricesAreThoseOfTheReference();
  void KvBIsCutByHead(const LoadedModel& model);

  TempDir directory_;
};

TEST_P(Variant, LoadsAndDecodes) {
  LoadsWithoutWarnings();
  MatricesAreThoseOfTheReference();
}

void Variant::LoadsWithoutWarnings() {
  TempDir home;
  LoadOptions options;
  options.home.home_dir = home.path();
  options.log = [](LogLevel level, const std::string& line) { EXPECT_NE(level, LogLevel::kWarning) << line; };
  const LoadedModel model = LoadModel(directory_.path(), options);
  const std::string name = GetParam();
  const bool separate = name == "separate" || name == "ragged" || name == "plain" || name == "experts-only";
  EXPECT_EQ(model.weights.layers[0].kda->qkv.size(), separate ? 3u : 1u);
  EXPECT_EQ(model.weights.layers[0].kda->o.bias != nullptr, name == "bias");
  if (name == "pool2") {
    EXPECT_TRUE(model.weights.layers[1].mla->indexer.has_value());
    EXPECT_FALSE(model.weights.layers[2].mla->indexer.has_value());
    EXPECT_EQ(model.config.indexer_types[3], IndexerKind::kShared);
    EXPECT_FLOAT_EQ(model.config.rms_norm_eps, 1e-6f);
  }
  if (name == "clamp") {
    EXPECT_FLOAT_EQ(model.home.view().Expert(0, 0).limit, 0.6f);
    EXPECT_EQ(model.weights.layers[1].shared->gate.out_features, 3 * 128);
  }
  if (name == "plain") {  // tied
    EXPECT_EQ(model.weights.head.kind, WeightKind::kF32);
    EXPECT_EQ(model.weights.head.out_features, model.config.vocab_size);
    const float row = static_cast<const float*>(model.weights.head.data)[2];  // input 0, output 2
    const auto* embedding = static_cast<const uint16_t*>(model.weights.embedding);
    const uint16_t bits = embedding[2 * model.config.hidden_size];
    EXPECT_EQ(row, model.weights.embedding_kind == WeightKind::kF16 ? F16ToFloat(bits) : Bf16ToFloat(bits));
  }
  if (name == "mixed") {
    EXPECT_EQ(model.home.view().Expert(0, 0).gate.kind, WeightKind::kExl3);
    EXPECT_NE(model.home.view().Expert(0, 1).gate.kind, WeightKind::kExl3);
  }
  KvBIsCutByHead(model);
}

// Every K, codebook, padding and sign field: W of each matrix, bit for bit.
void Variant::MatricesAreThoseOfTheReference() {
  std::string text;
  ASSERT_TRUE(testing::RunCommand(
      std::string(testing::kPython) + " " HEARTH_SOURCE_DIR "/tests/support/matrix_digests.py " + directory_.path(),
      &text))
      << text;
  const Checkpoint checkpoint(directory_.path());
  MatrixPlanner planner(checkpoint);
  size_t count = 0;
  for (const auto& row : nlohmann::json::parse(text)) {
    // A bias has the logical length, which the padded shape here would contradict.
    if (checkpoint.Find(row["key"].get<std::string>() + ".bias") != nullptr) continue;
    const MatrixPlan plan = planner.Matrix(row["key"], row["in"], row["out"]);
    std::vector<float> dense(static_cast<size_t>(plan.in_features * plan.out_features));
    FillDense(checkpoint, plan, dense.data());
    EXPECT_EQ(testing::Sha256Hex(dense.data(), dense.size() * 4), row["sha256"]) << row["key"];
    ++count;
  }
  EXPECT_GT(count, 20u);
}

void Variant::KvBIsCutByHead(const LoadedModel& model) {
  const ModelConfig& c = model.config;
  const Checkpoint checkpoint(directory_.path());
  MatrixPlanner planner(checkpoint);
  const int64_t heads = c.mla_heads, qk = c.qk_nope_head_dim, v = c.v_head_dim, rank = c.kv_lora_rank;
  const MatrixPlan plan = planner.Matrix("model.language_model.layers.1.self_attn.kv_b_proj", rank, heads * (qk + v));
  std::vector<float> dense(static_cast<size_t>(heads * (qk + v) * rank));
  FillDense(checkpoint, plan, dense.data());
  const MlaWeights& mla = *model.weights.layers[1].mla;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t r = 0; r < rank; ++r) {
      for (int64_t i = 0; i < qk; ++i) {
        ASSERT_EQ(mla.absorb_k[(h * qk + i) * rank + r], dense[(h * (qk + v) + i) * rank + r])
            << h << " " << i << " " << r;
      }
      for (int64_t i = 0; i < v; ++i) {
        ASSERT_EQ(mla.absorb_v[(h * rank + r) * v + i], dense[(h * (qk + v) + qk + i) * rank + r]) << h << " " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Variant,
                         ::testing::Values("base", "odd", "ragged", "clamp", "pool2", "separate", "plain", "plain-f32",
                                           "experts-only", "mixed", "legacy", "bias"),
                         [](const auto& variant) {
                           std::string name = variant.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace hearth
