#pragma once

#include <cuda_fp16.h>

#include "kernels/linear/gemv_finish_cuda.cuh"

namespace hearth::kernels::cuda {

constexpr int kStageInputs = 128;               // one Hadamard block
constexpr int kStageTiles = kStageInputs / 16;  // down the inputs; also the tiles across a strip
static_assert(kStageTiles == kGemvWarps && kStripColumns == kStageInputs);

// Activations enter the tensor cores with the precision of fp32: a block of 128 is scaled by a power of two to just
// below 2^15 and split into two f16 numbers, x = high + low + error, |error| < 2^-22 of the block's largest.
//
// Operands of one stage in shared memory: [8 tiles][rows][high, low][4] pairs of words; lane 4 n + q of a product with
// column n has word pair q of it: inputs 2q 2q+1, 2q+8 2q+9. Columns 2r and 2r + 1 are the high and low part of row r.
constexpr int kOperandBytes = kStageInputs * 4;  // of one row

// Rotates, scales and splits inputs 4 lane .. 4 lane + 3 of one block, and stores them.
__device__ inline void RotateBlock(float4 x, const uint16_t* suh, uint32_t* to, int rows, int row,
                                   float* inverse_scale) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float4 s = HalvesToFloats(suh + lane * 4);
  float v[4] = {x.x * s.x, x.y * s.y, x.z * s.z, x.w * s.w};
  WarpHadamard128(v);
  unsigned largest = 0;  // magnitudes compare like their bits
#pragma unroll
  for (int i = 0; i < 4; ++i) largest = max(largest, __float_as_uint(v[i]) & 0x7FFFFFFFu);
  largest = __reduce_max_sync(kAllLanes, largest);
  const unsigned exponent = min(max(largest >> 23, 20u), 254u);  // both scales stay normal numbers
  const float scale = __uint_as_float((268u - exponent) << 23);  // 2^(14 - (exponent - 127))
  if (lane == 0) *inverse_scale = __uint_as_float((exponent - 14u) << 23);
  uint32_t* high_words = to + ((lane / 4) * rows + row) * 16 + 4 * (lane & 1) + ((lane >> 1) & 1);
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const float a = v[2 * p] * scale, b = v[2 * p + 1] * scale;
    const __half2 high = __floats2half2_rn(a, b);
    const float2 rounded = __half22float2(high);
    const __half2 low = __floats2half2_rn(a - rounded.x, b - rounded.y);
    high_words[2 * p] = *reinterpret_cast<const uint32_t*>(&high);
    high_words[2 * p + 8] = *reinterpret_cast<const uint32_t*>(&low);
  }
}

}  // namespace hearth::kernels::cuda
