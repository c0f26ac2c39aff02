#include "tools/doctor/model_needs.h"

#include <algorithm>
#include <filesystem>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "gateway/text/model_tokenizer.h"
#include "gpu_worker/loader/device_model.h"
#include "gpu_worker/loader/expert_home_builder.h"
#include "gpu_worker/loader/weights_builder.h"
#include "gpu_worker/synthetic/model_files.h"

namespace hearth::doctor {
namespace {

namespace fs = std::filesystem;

// The shape of GLM-5.3-Flash: 42 MoE layers of 288 experts, each 9,437,184 bytes of matrices and 36,864 of scales.
constexpr uint64_t kRealHome = 42ull * 288 * (9'437'184 + 36'864);
constexpr uint64_t kRealDense = 6'300'000'000;
constexpr uint64_t kRealEmbedding = 154'880ull * 4096 * 2;
constexpr uint64_t kRealCheckpoint = 125'300'000'000;

// Beside weights and home: staging, paused sequences, libraries. A GPU's worker gives the weights back before it needs
// the larger buffers. And on a device: context, KV, states, a few experts.
constexpr uint64_t kLeastBuffers = 256 * kMiB, kGpuHostBuffers = 2 * kGiB, kDeviceRest = 4 * kGiB;

// `host`: what the worker sets aside for all weights but the experts' while it loads. `device`: what a GPU then takes
// of them.
void AddSums(ModelNeeds& needs, uint64_t host, uint64_t device, bool on_gpu) {
  needs.host_bytes = (on_gpu ? std::max(host, kGpuHostBuffers) : host) + kLeastBuffers;
  needs.device_bytes = on_gpu ? device + kDeviceRest : 0;
}

// While it exists, a download is under way or was cut off (deploy/images/download_model.py).
constexpr const char* kInProgress = ".hearth-downloading";

// Files that are there, and parts of others: what a download need not fetch again. The rest of the client's own folder
// does not count.
uint64_t DownloadedBytes(const fs::path& dir) {
  std::error_code error;
  if (!fs::exists(dir / kInProgress, error)) return 0;
  uint64_t bytes = 0;
  for (fs::recursive_directory_iterator entry(dir, error), end; !error && entry != end; entry.increment(error)) {
    const bool part = entry->path().extension() == ".incomplete";
    const bool in_cache = fs::relative(entry->path(), dir, error).begin()->string() == ".cache";
    std::error_code gone;
    if (!entry->is_regular_file(gone) || (in_cache && !part)) continue;
    const uint64_t size = entry->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// As the gateway asks once the worker is ready, and in its words; the remedy is that of scripts/serve.sh.
void CheckTokenizer(const std::string& dir, int64_t model_ids) {
  const Result<text::Tokenizer> tokenizer = text::LoadModelTokenizer(dir);
  const Status status = tokenizer.ok() ? text::CheckModelHasIds(*tokenizer, dir, model_ids) : tokenizer.status();
  if (!status.ok()) throw StartupError(StrCat(status.message(), "; HEARTH_MODEL_DIR names the gateway another folder"));
}

}  // namespace

ModelNeeds DefaultModelNeeds(const std::string& model_dir, bool on_gpu) {
  ModelNeeds needs{.model_dir = model_dir, .home_bytes = kRealHome, .download_bytes = kRealCheckpoint};
  needs.download_bytes -= std::min(needs.download_bytes, DownloadedBytes(model_dir));
  AddSums(needs, kRealDense + kRealEmbedding, kRealDense, on_gpu);
  return needs;
}

ModelNeeds ReadModelNeeds(const ModelQuery& query) {
  std::error_code error;
  const fs::path dir = query.model;
  if (!IsSynthetic(query.model) && (!fs::exists(dir / "config.json", error) || fs::exists(dir / kInProgress, error))) {
    return DefaultModelNeeds(query.model, query.on_gpu);
  }
  ModelNeeds needs{.model_dir = query.model, .present = true};
  try {
    const ModelFiles model = OpenModel(query.model);
    MatrixPlanner planner(*model.tensors);
    const PlannedWeights planned = PlanWeights(model.config, planner);
    const HomePlan home = PlanHome(model.config, PlanExperts(model.config, planner), model.tensors->Fingerprint());
    HomeOptions options;
    options.home_dir = query.home_dir;
    needs.home_bytes = HomeBytesToCome(home, options);
    AddSums(needs, planned.memory, DeviceModel::WeightBytes(model.config, planned.weights), query.on_gpu);
    if (query.tokenizer_dir != kElsewhere) {
      CheckTokenizer(query.tokenizer_dir.empty() ? query.model : query.tokenizer_dir, model.config.vocab_size);
    }
  } catch (const StartupError& problem) {
    needs.problem = problem.what();
  }
  return needs;
}

}  // namespace hearth::doctor
