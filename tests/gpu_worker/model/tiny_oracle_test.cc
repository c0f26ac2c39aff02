// The five-layer model of tests/golden/glm5_next_tiny.json: every formula of the architecture, weights from a hash.
// Compiled twice: with fp32 arithmetic (reference and AVX2 ops), and with double (reference ops, at 1e-6).

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/support/generated_tensors.h"
#include "tests/support/model_runner.h"

namespace hearth::testing {
namespace {

using kernels::Real;

constexpr bool kDouble = sizeof(Real) == sizeof(double);
constexpr double kLogitTolerance = kDouble ? 1e-6 : 5e-5;
constexpr double kStreamTolerance = kDouble ? 1e-6 : 1e-4;

nlohmann::json ReadOracle() {
  std::ifstream file(HEARTH_SOURCE_DIR "/tests/golden/glm5_next_tiny.json");
  return nlohmann::json::parse(file);
}

class TinyOracle : public ::testing::TestWithParam<const kernels::Backend*> {
 protected:
  TinyOracle() : oracle_(ReadOracle()), source_(oracle_), model_(Load()) {}

  LoadedModel Load() {
    const Result<ModelConfig> config = ParseModelConfig(oracle_["config"].dump());
    if (!config.ok()) throw std::runtime_error(config.status().ToString());
    LoadOptions options;
    options.home.home_dir = home_.path();
    return LoadModel(*config, GenerationConfig{}, source_, options);
  }

  ModelRunner Runner(int64_t chunk_size) { return ModelRunner(model_, *GetParam(), {.chunk_size = chunk_size}); }

  void ExpectLogits(const std::vector<Real>& got) {
    const auto& want = oracle_["logits"];
    const size_t vocab = want[0].size();
    ASSERT_EQ(got.size(), want.size() * vocab);
    double worst = 0;
    for (size_t t = 0; t < want.size(); ++t) {
      size_t best = 0;
      for (size_t v = 0; v < vocab; ++v) {
        worst = std::max(worst, std::abs(got[t * vocab + v] - want[t][v].get<double>()));
        if (got[t * vocab + v] > got[t * vocab + best]) best = v;
      }
      EXPECT_EQ(best, oracle_["argmax"][t].get<size_t>()) << "position " << t;
    }
    EXPECT_LT(worst, kLogitTolerance);
    RecordProperty("worst_logit_difference", std::to_string(worst));
  }

  std::vector<int32_t> tokens() const { return oracle_["token_ids"]; }

  TemporaryHome home_;
  nlohmann::json oracle_;
  GeneratedTensors source_;
  LoadedModel model_;
};

TEST_P(TinyOracle, TheGeneratorGivesTheListedValues) {
  const auto& check = oracle_["generator"]["check"];
  const TensorInfo* tensor = source_.Find(check["name"]);
  ASSERT_NE(tensor, nullptr);
  std::vector<float> values(tensor->bytes / sizeof(float));
  source_.Read(*tensor, values.data());
  for (size_t i = 0; i < check["first_values"].size(); ++i) {
    EXPECT_NEAR(values[i], check["first_values"][i].get<double>(), GeneratedTensors::kCheckTolerance);
  }
}

TEST_P(TinyOracle, PrefillGivesLogitsStreamsAndState) {
  ModelRunner runner = Runner(128);
  runner.Record();
  const SequenceStore::Slot slot = runner.store().Open();
  ExpectLogits(runner.Prefill(slot, tokens()));

  const size_t width = size_t(model_.config.hc_mult) * model_.config.hidden_size;
  for (const auto& [position, layers] : oracle_["streams_after_layer"].items()) {
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      const std::vector<Real>& streams = runner.recorded().at("layer" + std::to_string(layer) + ".streams");
      for (size_t i = 0; i < width; ++i) {
        ASSERT_NEAR(streams[std::stoul(position) * width + i], layers[layer][i].get<double>(), kStreamTolerance)
            << "layer " << layer << ", position " << position << ", value " << i;
      }
    }
  }
  const auto& states = oracle_["kda_state_after_last_token"];
  const size_t dim = model_.config.kda_head_dim;
  for (size_t d = 0; d < dim; ++d) {
    const Real* first = runner.store().kda_state(model_.config.KdaIndex(0), slot);
    const Real* third = runner.store().kda_state(model_.config.KdaIndex(3), slot);
    EXPECT_NEAR(first[d], states["layer0_head0_row0"][d].get<double>(), kStreamTolerance);
    EXPECT_NEAR(third[(3 * dim + 15) * dim + d], states["layer3_head3_row15"][d].get<double>(), kStreamTolerance);
  }
}

TEST_P(TinyOracle, DecodeAloneGivesTheSameLogits) {
  ModelRunner runner = Runner(128);
  ExpectLogits(runner.Run(tokens(), 0));
}

TEST_P(TinyOracle, PrefillAndDecodeMixAnywhere) {
  for (int64_t split : {1, 3, 18, 19, 63, 64, 65, 95}) {
    SCOPED_TRACE(split);
    ModelRunner runner = Runner(64);
    ExpectLogits(runner.Run(tokens(), split));
  }
}

std::vector<const kernels::Backend*> Backends() {
  std::vector<const kernels::Backend*> backends = {&kernels::RefBackend()};
#ifndef HEARTH_REAL_DOUBLE
  if (kernels::HostHasAvx2()) backends.push_back(&kernels::Avx2Backend());
#endif
  return backends;
}

INSTANTIATE_TEST_SUITE_P(Backends, TinyOracle, ::testing::ValuesIn(Backends()), [](const auto& test) {
  std::string name = test.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace hearth::testing
