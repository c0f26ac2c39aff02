#pragma once

#include <cuda_runtime_api.h>

#include "kernels/mla/mla.h"

namespace hearth::kernels::cuda {

// The ways through latent_attention on the GPU. Which one is taken depends on the shape, the number type and the phase,
// never on the rows.
//
// Any rank, any type, fp32 throughout: one block per row and head, tiles of 128 ranks.
void AttendAnyShape(cudaStream_t stream, const LatentAttentionArgs& args);

// Rank 512 in f16, on tensor cores.
//   prefill  ql (times scale) and the softmax weights are rounded to f16: about 2^-11 of relative error each
//   decode   both as f16 pairs, high and low part: fp32 but for the order. Splits of kSplitRanks ranks, merged ascending
void AttendPrefill512(cudaStream_t stream, const LatentAttentionArgs& args);
void AttendDecode512(cudaStream_t stream, const LatentAttentionArgs& args);

constexpr Dim kTensorRank = 512;
constexpr Dim kSplitRanks = 128;

}  // namespace hearth::kernels::cuda
