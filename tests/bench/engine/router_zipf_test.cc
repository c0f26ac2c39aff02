#include "bench/engine/router_zipf.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "common/base/startup_error.h"
#include "gpu_worker/loader/small_file.h"

namespace hearth {
namespace {

class RouterZipf : public testing::Test {
 protected:
  RouterZipf() {
    char pattern[] = "/dev/shm/hearth-router-zipf-test.XXXXXX";
    dir_ = mkdtemp(pattern);
    config_.device = "host";
    config_.cpu_tier = "";
    config_.home_dir = dir_;
  }
  ~RouterZipf() override { std::filesystem::remove_all(dir_); }

  // The small shape with this exponent, as a file.
  std::string Model(double zipf) {
    std::string text = *ReadSmallFile(HEARTH_SOURCE_DIR "/tools/synthetic/small_shape.json", 1'000'000);
    const std::string key = "\"router_zipf\": 0.89";
    text.replace(text.find(key), key.size(), StrCat("\"router_zipf\": ", zipf));
    const std::string path = StrCat(dir_, "/shape.json");
    std::ofstream(path) << text;
    return "synthetic:" + path;
  }
  std::vector<std::vector<float>> Biases(const ModelEngine& engine) {
    std::vector<std::vector<float>> out;
    for (const LayerWeights& layer : engine.weights().layers) {
      const float* bias = layer.router_bias;
      out.emplace_back(bias, bias + (bias == nullptr ? 0 : engine.model().n_routed_experts));
    }
    return out;
  }

  std::string dir_;
  WorkerConfig config_;
};

TEST_F(RouterZipf, GivesTheRoutersOfAFileThatSaysSo) {
  const ChosenKernels kernels = ChooseKernels(config_);
  config_.model = Model(0.3);
  EXPECT_EQ(RouterZipfOf(config_.model), 0.3);
  const std::vector<std::vector<float>> flat = Biases(ModelEngine(config_, kernels, dir_, {}));
  config_.model = Model(0.89);
  ModelEngine engine(config_, kernels, dir_, {});
  EXPECT_NE(Biases(engine), flat);
  SetRouterZipf(engine, config_.model, 0.3);
  EXPECT_EQ(Biases(engine), flat);
}

TEST_F(RouterZipf, ACheckpointIsRefused) { EXPECT_THROW(RouterZipfOf(dir_), StartupError); }

}  // namespace
}  // namespace hearth
