#pragma once

#include <memory>
#include <string>

#include "gpu_worker/loader/tensor_source.h"
#include "gpu_worker/model/model_config.h"

namespace hearth {

// What `--model` names: the directory of a checkpoint, or `synthetic:FILE.json` with a config.json that has an object
// `hearth_synthetic` (synthetic_settings.h).
struct ModelFiles {
  ModelConfig config;
  GenerationConfig generation;
  std::unique_ptr<TensorSource> tensors;
  bool synthetic = false;
};

inline constexpr char kSyntheticPrefix[] = "synthetic:";

inline bool IsSynthetic(const std::string& model) { return model.starts_with(kSyntheticPrefix); }

// Throws StartupError in one line that names what was found and what was expected.
ModelFiles OpenModel(const std::string& model);

}  // namespace hearth
