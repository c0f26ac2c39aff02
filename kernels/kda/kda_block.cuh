#pragma once

#include <cuda_runtime_api.h>

#include "kernels/kda/kda_runs.h"

namespace hearth::kernels::cuda {

// The blocked delta rule runs in two launches: one prepares what blocks of 64 tokens need before they meet the state,
// all blocks and heads in parallel; one carries the state from block to block, value columns in parallel. With G_t the
// sum of g up to token t of a block, and T the inverse of 1 + beta_t sum_c k_t k_s e^{G_t - G_s} (s < t), a prepared
// block is:
namespace kda_block {
constexpr int kTokens = static_cast<int>(kKdaBlock);
constexpr int kChannels = 128;                       // head_dim at most; surplus channels and tokens are 0
constexpr int kKDecayed = 0;                         // [64, 128]  k_t e^{G_t}
constexpr int kQDecayed = kTokens * kChannels;       // [64, 128]  q_t e^{G_t}
constexpr int kKCarried = 2 * kTokens * kChannels;   // [64, 128]  k_s e^{G_end - G_s}
constexpr int kSolve = 3 * kTokens * kChannels;      // [64, 64]   T[t][s] beta_s, s <= t, else 0
constexpr int kAttend = kSolve + kTokens * kTokens;  // [64, 64]   sum_c q_t k_s e^{G_t - G_s}, s <= t; 0 for
                                                     //            other s of the same 16 tokens, undefined beyond
constexpr int kDecay = kAttend + kTokens * kTokens;  // [128]      e^{G_end}
constexpr int kFloats = kDecay + kChannels;          // of one block and head
}  // namespace kda_block

// blocks[slot][head] are kda_block::kFloats floats each, 16-byte aligned. `aligned`: rows of qkv, g, o and the states
// can be read 16 bytes at a time.
void PrepareKdaBlocks(cudaStream_t stream, const KdaRuns& runs, const KdaRuleArgs& args, bool aligned, float* blocks);
void AdvanceKdaStates(cudaStream_t stream, const KdaRuns& runs, const KdaRuleArgs& args, bool aligned,
                      const float* blocks);

}  // namespace hearth::kernels::cuda
