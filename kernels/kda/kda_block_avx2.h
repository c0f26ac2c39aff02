#pragma once

#include "kernels/kda/kda.h"

namespace hearth::kernels::avx2 {

// What one block of at most 64 tokens of one head needs before it meets the state. With G_t the sum of g up to token
// t of the block, the entries of a row depend on that row and earlier ones only, so the rows of a short block have
// the bits they have in a full one. No exponent is ever positive: sums of g are formed from the nearer end.
struct KdaBlock {
  static constexpr Dim kRowBlock = 8;  // rows handled together

  Dim padded = 0;              // dim rounded up to 8; surplus channels are 0
  float* k_decayed = nullptr;  // [64, padded]  k_t e^{G_t}
  float* q_decayed = nullptr;  // [64, padded]  q_t e^{G_t}
  float* lower = nullptr;      // [64, 64]      beta_t sum_c k_t k_s e^{G_t - G_s}, s < t; the rest is undefined
  float* attend = nullptr;     // [64, 64]      sum_c q_t k_s e^{G_t - G_s}, s <= t; the rest is undefined
  float* k_carried = nullptr;  // [padded, 64]  k_s e^{G_end - G_s}, transposed
  float* decay = nullptr;      // [padded]      e^{G_end}
  float* work = nullptr;       // KdaBlockWork(padded) floats
};

// Floats of all the buffers above, and of `work` alone.
Dim KdaBlockFloats(Dim dim);
Dim KdaBlockWork(Dim padded);
// Hands out the parts of a 64-byte aligned buffer of KdaBlockFloats(dim) floats and clears what must be defined.
KdaBlock PlaceKdaBlock(float* buffer, Dim dim);

// Fills `block` from rows [first_row, first_row + rows), rows <= 64.
void BuildKdaBlock(const KdaRuleArgs& args, Dim first_row, Dim rows, Dim head, const KdaBlock& block);

}  // namespace hearth::kernels::avx2
