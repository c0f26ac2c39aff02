#pragma once

#include <cuda_runtime_api.h>

#include "kernels/router/router.h"

namespace hearth::kernels::cuda {

// logits [rows, experts] = x W^T in fp32, in the phase's own order:
//   decode   128 threads share an expert, each sums every 128th group of 4 inputs, ascending; then a tree over the
//            lanes, then the 4 warps ascending
//   prefill  chains over 32 consecutive inputs, added ascending
void RouterLogits(cudaStream_t stream, const RouterArgs& args, float* logits);

}  // namespace hearth::kernels::cuda
