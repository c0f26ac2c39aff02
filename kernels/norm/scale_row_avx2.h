#pragma once

#include "kernels/simd/avx2_vec.h"

namespace hearth::kernels::avx2 {
namespace {

// out = x * scale * weight; out may be x.
inline void ScaleRow(const float* x, float scale, const float* weight, Dim n, float* out) {
  const __m256 factor = _mm256_set1_ps(scale);
  for (Dim i = 0; i < n; i += kLanes) {
    const __m256 scaled = _mm256_mul_ps(LoadFirst(x + i, n - i), factor);
    StoreFirst(out + i, n - i, _mm256_mul_ps(scaled, LoadFirst(weight + i, n - i)));
  }
}

}  // namespace
}  // namespace hearth::kernels::avx2
