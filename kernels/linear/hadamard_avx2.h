#pragma once

#include <immintrin.h>

namespace hearth::kernels::avx2 {

// In place, 128 values in 16 vectors: butterflies at distances 1, 2, .. 64, then 1/sqrt(128). Same operations as the
// reference, same bits (a - b is taken as a + (-b)).
inline __attribute__((always_inline)) void Hadamard128(__m256* v) {
  const __m256 odd = _mm256_castsi256_ps(_mm256_set_epi32(1 << 31, 0, 1 << 31, 0, 1 << 31, 0, 1 << 31, 0));
  const __m256 upper_pair = _mm256_castsi256_ps(_mm256_set_epi32(1 << 31, 1 << 31, 0, 0, 1 << 31, 1 << 31, 0, 0));
  const __m256 upper_half = _mm256_castsi256_ps(_mm256_set_epi32(1 << 31, 1 << 31, 1 << 31, 1 << 31, 0, 0, 0, 0));
  for (int i = 0; i < 16; ++i) {
    __m256 x = v[i];
    x = _mm256_add_ps(_mm256_permute_ps(x, 0xB1), _mm256_xor_ps(x, odd));
    x = _mm256_add_ps(_mm256_permute_ps(x, 0x4E), _mm256_xor_ps(x, upper_pair));
    v[i] = _mm256_add_ps(_mm256_permute2f128_ps(x, x, 0x01), _mm256_xor_ps(x, upper_half));
  }
  for (int distance = 1; distance < 16; distance *= 2) {
    for (int start = 0; start < 16; start += 2 * distance) {
      for (int i = start; i < start + distance; ++i) {
        const __m256 a = v[i], b = v[i + distance];
        v[i] = _mm256_add_ps(a, b);
        v[i + distance] = _mm256_sub_ps(a, b);
      }
    }
  }
  const __m256 scale = _mm256_set1_ps(0.088388347648318440550f);
  for (int i = 0; i < 16; ++i) v[i] = _mm256_mul_ps(v[i], scale);
}

}  // namespace hearth::kernels::avx2
