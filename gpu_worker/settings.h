#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_worker/config.h"
#include "gpu_worker/experts/executor_options.h"
#include "gpu_worker/memory/memory_plan.h"
#include "gpu_worker/model/model_config.h"
#include "kernels/backend.h"
#include "kernels/mla/mla.h"

namespace hearth {

// What the options mean for the machine and the model at hand.

struct ChosenKernels {
  const kernels::Backend* backend = nullptr;
  std::string name;         // "cuda", "host-avx2", "host-ref"
  std::string device;       // of cuda: the card
  std::string no_cuda;      // why --device auto did not take the GPU; empty where none was to be expected
  uint64_t vram_bytes = 0;  // of cuda: the card's memory
  uint64_t vram_taken = 0;  // of cuda: taken already, by the driver, this process's context and other processes
  bool on_host() const { return vram_bytes == 0; }
};
// Why --backend cannot be meant: it names kernels of the host device, and `gpu` says that the model runs on a GPU. ""
// if it can.
std::string BackendProblem(const WorkerConfig& config, bool gpu);
// Throws StartupError when the device or the kernels asked for are not there. `root` stands for / when a build without
// CUDA looks whether there is a GPU that it leaves unused.
ChosenKernels ChooseKernels(const WorkerConfig& config, const std::string& root = "");

// The folder of the expert home.
std::string ChooseHomeDir(const WorkerConfig& config);

struct Settings {
  int64_t context = 0;      // most prompt and completion tokens of a request
  int64_t pool_tokens = 0;  // of all sequences
  int64_t sequences = 0;
  int64_t chunk_size = 0;
  int64_t max_batch_rows = 0;
  kernels::KvType kv_type = kernels::KvType::kF32;
  std::vector<std::string> remarks;  // what was clamped or has no effect, for the log
};
// A shape that the CUDA kernels do not take, with key, value, bound and what would help; "" when they take all.
std::string CudaShapeProblem(const ModelConfig& model);
// Throws StartupError when model, options and kernels do not go together.
Settings Settle(const WorkerConfig& config, const ModelConfig& model, const ChosenKernels& kernels);

// Whether a CPU tier is to be attached.
bool UsesCpuTier(const WorkerConfig& config);
// What is taken of a card is partly this process's, whose share the driver does not tell: that is at most the size of a
// context with all kernels.
struct VramUse {
  uint64_t own_bytes = 0, others_bytes = 0;
};
VramUse SplitVram(uint64_t taken_bytes);
// What is taken now; 0 on the host.
uint64_t MeasureVramTaken(const ChosenKernels& kernels);
MemoryLimits DeviceLimits(const WorkerConfig& config, const ChosenKernels& kernels);
// Buffers for experts that are fetched ahead.
int LookAheadBuffers(const WorkerConfig& config, const ChosenKernels& kernels);

ExecutorOptions ExecutorSettings(const WorkerConfig& config, const MemoryPlan& plan, const ChosenKernels& kernels);

}  // namespace hearth
