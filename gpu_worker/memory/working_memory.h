#pragma once

#include <cstdint>
#include <span>

#include "common/matrix/matrix_view.h"
#include "gpu_worker/model/model_config.h"
#include "gpu_worker/model/weights.h"

namespace hearth {

struct WorkingLimits {
  int64_t chunk_size = 0;
  int64_t max_batch_rows = 0;
  int64_t pool_tokens = 0;
  int exl3_terms = 1;  // fp16 numbers that an activation of prefill becomes (--act)
};

// A bound of the device memory that is taken after start, at the first long prompt, the first scored one and so on: the
// scratch of the main stream and of the one that misses take, logits, the buffers of decode, and those of a smallest
// chunk, which the expert cache may be too small to lend. Pure: of the matrices only the geometry counts. `experts`:
// of all layers, or one of each geometry.
uint64_t WorkingBytes(const ModelConfig& model, const ModelWeights& weights, std::span<const MlpView> experts,
                      const WorkingLimits& limits);

}  // namespace hearth
