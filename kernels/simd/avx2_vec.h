#pragma once

#include <immintrin.h>

#include <cstring>

#include "kernels/math/exp_avx2.h"
#include "kernels/real.h"

// Eight-lane building blocks of the AVX2 ops. Included only by files compiled for AVX2; everything has internal
// linkage, so that no copy of it can stand in for code compiled for an older processor.
namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kLanes = 8;

// All bits set in the first n lanes, 0 <= n <= 8.
inline __m256i LaneMask(Dim n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// The first n of eight numbers, the rest 0.
inline __m256 LoadFirst(const float* p, Dim n) {
  return n >= kLanes ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, LaneMask(n));
}
inline void StoreFirst(float* p, Dim n, __m256 v) {
  if (n >= kLanes) {
    _mm256_storeu_ps(p, v);
  } else {
    _mm256_maskstore_ps(p, LaneMask(n), v);
  }
}

// The same for cached numbers of either type.
inline __m256 Load8(const float* p) { return _mm256_loadu_ps(p); }
inline __m256 Load8(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
inline __m256 LoadFirst(const uint16_t* p, Dim n) {
  if (n >= kLanes) return Load8(p);
  uint16_t some[kLanes] = {};
  std::memcpy(some, p, static_cast<size_t>(n) * sizeof(uint16_t));
  return Load8(some);
}
inline void StoreFirst(uint16_t* p, Dim n, __m256 v) {
  const __m128i half = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  uint16_t all[kLanes];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(all), half);
  std::memcpy(p, all, static_cast<size_t>(n < kLanes ? n : kLanes) * sizeof(uint16_t));
}

// The one tree by which eight lanes become a number: ((0+1)+(2+3)) + ((4+5)+(6+7)).
inline float Sum8(__m256 v) {
  const __m256 pairs = _mm256_hadd_ps(v, v);
  const __m256 quads = _mm256_hadd_ps(pairs, pairs);
  return _mm_cvtss_f32(_mm_add_ss(_mm256_castps256_ps128(quads), _mm256_extractf128_ps(quads, 1)));
}
// Four such sums at once, by the same tree.
inline __m128 Sum8x4(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 quads = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(quads), _mm256_extractf128_ps(quads, 1));
}
inline float Max8(__m256 v) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

// sum of x^2: four eight-lane sums over steps of 32, then ((0+1)+(2+3)), then the tree. Depends on n alone.
inline float SumOfSquares(const float* x, Dim n) {
  __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  Dim i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int j = 0; j < 4; ++j) {
      const __m256 v = _mm256_loadu_ps(x + i + j * kLanes);
      sum[j] = _mm256_fmadd_ps(v, v, sum[j]);
    }
  }
  for (int j = 0; i < n; i += kLanes, ++j) {
    const __m256 v = LoadFirst(x + i, n - i);
    sum[j] = _mm256_fmadd_ps(v, v, sum[j]);
  }
  return Sum8(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
}

// 1 / sqrt(mean(x^2) + eps)
inline float InverseRms(const float* x, Dim n, float eps) {
  const __m128 mean = _mm_set_ss(SumOfSquares(x, n) / static_cast<float>(n) + eps);
  return 1.0f / _mm_cvtss_f32(_mm_sqrt_ss(mean));
}

}  // namespace
}  // namespace hearth::kernels::avx2
