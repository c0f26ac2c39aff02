#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_worker/loader/tensor_source.h"
#include "gpu_worker/model/model_config.h"
#include "gpu_worker/synthetic/random_values.h"
#include "gpu_worker/synthetic/synthetic_settings.h"

namespace hearth {

struct SyntheticTensor {
  TensorInfo info;
  ValueLaw law;
  std::vector<float> values;  // of kVector
  uint64_t seed = 0;
};

// All tensors of a model of this shape, under the names and types of an EXL3 pack of GLM-5.3-Flash
// (docs/formats/exl3.md), with scales that keep the residual streams' rms between 0.1 and 10 over 45 layers.
std::vector<SyntheticTensor> ListSyntheticTensors(const ModelConfig& config, const SyntheticSettings& settings);

}  // namespace hearth
