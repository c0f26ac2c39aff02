#include "tools/doctor/model_needs.h"

#include <filesystem>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "gpu_worker/loader/checkpoint.h"
#include "gpu_worker/loader/config_reader.h"
#include "gpu_worker/loader/expert_home_builder.h"
#include "gpu_worker/loader/weights_builder.h"

namespace hearth::doctor {
namespace {

// The shape of GLM-5.3-Flash: 42 MoE layers of 288 experts, each 9,437,184 bytes of matrices and 36,864 of scales.
constexpr uint64_t kRealHome = 42ull * 288 * (9'437'184 + 36'864);
constexpr uint64_t kRealDense = 6'300'000'000;
constexpr uint64_t kRealEmbedding = 154'880ull * 4096 * 2;
constexpr uint64_t kRealCheckpoint = 125'300'000'000;

// Beside weights and home: staging, paused sequences, libraries. And on a device: context, KV, states, a few experts.
constexpr uint64_t kLeastBuffers = 256 * kMiB, kGpuHostBuffers = 2 * kGiB, kDeviceRest = 4 * kGiB;

void AddSums(ModelNeeds& needs, uint64_t dense, uint64_t embedding, bool on_gpu) {
  needs.host_bytes = on_gpu ? embedding + kGpuHostBuffers : dense + embedding + kLeastBuffers;
  needs.device_bytes = on_gpu ? dense + kDeviceRest : 0;
}

}  // namespace

ModelNeeds DefaultModelNeeds(const std::string& model_dir, bool on_gpu) {
  ModelNeeds needs{.model_dir = model_dir, .home_bytes = kRealHome, .download_bytes = kRealCheckpoint};
  AddSums(needs, kRealDense, kRealEmbedding, on_gpu);
  return needs;
}

ModelNeeds ReadModelNeeds(const std::string& model_dir, const std::string& home_dir, bool on_gpu) {
  std::error_code error;
  const std::filesystem::path dir = model_dir;
  if (!std::filesystem::exists(dir / "config.json", error) ||
      std::filesystem::exists(dir / ".hearth-downloading", error)) {
    return DefaultModelNeeds(model_dir, on_gpu);
  }
  ModelNeeds needs{.model_dir = model_dir, .present = true};
  try {
    const Checkpoint checkpoint(model_dir);
    const Result<ModelConfig> model = ParseModelConfig(checkpoint.config_text());
    if (!model.ok()) throw StartupError(StrCat(model_dir, ": ", model.status().message()));
    MatrixPlanner planner(checkpoint);
    const uint64_t weights = PlanWeights(*model, planner).bytes;
    const HomePlan home = PlanHome(*model, PlanExperts(*model, planner), checkpoint.Fingerprint());
    HomeOptions options;
    options.home_dir = home_dir;
    needs.home_bytes = HomeExists(home, options) ? 0 : home.header.total_bytes;
    AddSums(needs, weights, 0, on_gpu);
  } catch (const StartupError& problem) {
    needs.problem = problem.what();
  }
  return needs;
}

}  // namespace hearth::doctor
