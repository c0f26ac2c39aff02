#pragma once

#include <immintrin.h>

namespace hearth::kernels::avx2 {

// Butterflies of one vector at the distances 1, 2, 4. A product with 1 or -1 is exact, so that a fused a + b or a - b
// is rounded once, like the plain one.
inline __attribute__((always_inline)) __m256 HadamardLanes(__m256 x) {
  const __m256 odd = _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1);
  const __m256 upper_pair = _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1);
  const __m256 upper_half = _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1);
  x = _mm256_fmadd_ps(x, odd, _mm256_permute_ps(x, 0xB1));
  x = _mm256_fmadd_ps(x, upper_pair, _mm256_permute_ps(x, 0x4E));
  return _mm256_fmadd_ps(x, upper_half, _mm256_permute2f128_ps(x, x, 0x01));
}

// All distances of kVectors vectors, not scaled. One half is done before the other is begun, which leaves registers.
template <int kVectors>
inline __attribute__((always_inline)) void HadamardSums(__m256* v) {
  if constexpr (kVectors == 1) {
    v[0] = HadamardLanes(v[0]);
  } else {
    constexpr int kHalf = kVectors / 2;
    HadamardSums<kHalf>(v);
    HadamardSums<kHalf>(v + kHalf);
#pragma GCC unroll 8
    for (int i = 0; i < kHalf; ++i) {
      const __m256 a = v[i], b = v[i + kHalf];
      v[i] = _mm256_add_ps(a, b);
      v[i + kHalf] = _mm256_sub_ps(a, b);
    }
  }
}

// In place, 128 values in 16 vectors: butterflies at distances 1, 2, .. 64, then 1/sqrt(128). Same bits as the
// reference.
inline __attribute__((always_inline)) void Hadamard128(__m256* v) {
  HadamardSums<16>(v);
  const __m256 scale = _mm256_set1_ps(0.088388347648318440550f);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = _mm256_mul_ps(v[i], scale);
}

}  // namespace hearth::kernels::avx2
