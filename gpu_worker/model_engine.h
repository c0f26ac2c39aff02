#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "gpu_worker/config.h"
#include "gpu_worker/experts/cpu_tier_client.h"
#include "gpu_worker/experts/lane_executor.h"
#include "gpu_worker/experts/link_lane.h"
#include "gpu_worker/loader/device_model.h"
#include "gpu_worker/loader/load_model.h"
#include "gpu_worker/model/decoder.h"
#include "gpu_worker/model/sequence_store.h"
#include "gpu_worker/settings.h"
#include "gpu_worker/synthetic/model_files.h"

namespace hearth {

// Waits for a worker that still holds the home at `path`, as a dying one does, so that its memory is free when ours is
// summed up. DEADLINE_EXCEEDED, with what would help, when it holds on to it.
Status WaitForHome(const std::string& path, std::chrono::milliseconds most);

// A loaded model and everything that computes with it, put together as the options say: what the worker serves, and
// what bench/engine measures.
class ModelEngine {
 public:
  // Bytes read and to read while loading; may throw to stop it.
  using Progress = std::function<void(uint64_t done, uint64_t total)>;

  // Throws StartupError. `config` and `kernels` outlive the engine.
  ModelEngine(const WorkerConfig& config, const ChosenKernels& kernels, const std::string& home_dir,
              const Progress& progress);
  ~ModelEngine();

  // Experts are run anew under these options, from an empty cache; sequences stay. Not while a chunk is unfinished.
  void RestartExperts(const ExecutorOptions& options);
  // Those that the configuration gives.
  ExecutorOptions executor_options() const { return ExecutorSettings(config_, memory_, kernels_); }

  const ModelConfig& model() const { return loaded_->config; }
  const LoadedModel& loaded() const { return *loaded_; }
  const ModelWeights& weights() const { return device_->weights(); }
  const HomeView& home() const { return device_->home(); }
  const kernels::Backend& backend() const { return *kernels_.backend; }
  const Settings& settings() const { return settings_; }
  const MemoryPlan& memory() const { return memory_; }
  Decoder::Limits limits() const {
    return {.chunk_size = settings_.chunk_size, .max_batch_rows = settings_.max_batch_rows};
  }
  bool synthetic() const { return synthetic_; }
  SequenceStore& store() { return *store_; }
  LaneExecutor& experts() { return *experts_; }
  Decoder& decoder() { return *decoder_; }
  const LinkLane& lane() const { return lane_; }
  CpuTierClient* tier() { return tier_.get(); }  // null when the CPU lane is not to be used

 private:
  void Load(const std::string& home_dir, const Progress& progress);
  void SumMemory(const ModelFiles& files, const HomeOptions& home_options, const Progress& progress);
  void StartTier(const std::string& home_dir);

  const WorkerConfig& config_;
  const ChosenKernels& kernels_;
  bool synthetic_ = false;
  Settings settings_;
  MemoryPlan memory_;
  std::unique_ptr<LoadedModel> loaded_;
  std::unique_ptr<DeviceModel> device_;
  std::unique_ptr<SequenceStore> store_;
  LinkLane lane_;
  std::unique_ptr<CpuTierClient> tier_;
  std::unique_ptr<LaneExecutor> experts_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace hearth
