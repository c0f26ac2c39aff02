#pragma once

#include <functional>
#include <string>

#include "common/log/log.h"
#include "gpu_worker/loader/expert_home_builder.h"
#include "gpu_worker/loader/tensor_source.h"
#include "gpu_worker/model/model_config.h"
#include "gpu_worker/model/weights.h"

namespace hearth {

struct LoadOptions {
  // Memory that the model may take; 0 asks the machine and its cgroup.
  uint64_t assume_ram_bytes = 0;
  HomeOptions home;  // `log` and `add_bytes` are set by the loader
  // Lines for the log; silent when empty. The last one has `loaded in N.N s`.
  std::function<void(LogLevel, const std::string&)> log;
  // Bytes read and bytes to read, by one thread at a time, at most every 100 ms and at the end. An adopted home counts
  // as read. May throw to stop loading; an unfinished home is then removed.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

struct LoadedModel {
  ModelConfig config;
  GenerationConfig generation;
  ModelWeights weights;
  ExpertHome home;
  std::string fingerprint;  // of home and checkpoint, 32 hexadecimal digits
  double seconds = 0;
};

// Reads the checkpoint in `directory`: everything is found and checked first, then read in parallel, each tensor once.
// Throws StartupError in one line that names file, tensor and reason.
LoadedModel LoadModel(const std::string& directory, const LoadOptions& options);

// The same for tensors from elsewhere.
LoadedModel LoadModel(const ModelConfig& config, const GenerationConfig& generation, const TensorSource& source,
                      const LoadOptions& options);

}  // namespace hearth
