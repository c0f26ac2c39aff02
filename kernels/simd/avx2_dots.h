#pragma once

#include "kernels/simd/avx2_vec.h"

// Many dot products of long rows, each one eight-lane chain of fused multiply-adds over ascending steps of 8 and the
// tree of Sum8. How many are worked on together changes no bit.
namespace hearth::kernels::avx2 {
namespace {

// out[r * out_row + k * out_k] = a[r] . b[k] for r < R, k < K; rows of a and b are `n` long.
template <int R, int K, typename B>
inline void DotTile(const float* a, Dim a_stride, const B* const* b, Dim n, float* out, Dim out_row, Dim out_k) {
  __m256 sum[R][K];
  for (int r = 0; r < R; ++r) {
    for (int k = 0; k < K; ++k) sum[r][k] = _mm256_setzero_ps();
  }
  Dim i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    __m256 w[K];
    for (int k = 0; k < K; ++k) w[k] = Load8(b[k] + i);
    for (int r = 0; r < R; ++r) {
      const __m256 v = _mm256_loadu_ps(a + r * a_stride + i);
      for (int k = 0; k < K; ++k) sum[r][k] = _mm256_fmadd_ps(v, w[k], sum[r][k]);
    }
  }
  if (i < n) {
    for (int k = 0; k < K; ++k) {
      const __m256 w = LoadFirst(b[k] + i, n - i);
      for (int r = 0; r < R; ++r) {
        sum[r][k] = _mm256_fmadd_ps(LoadFirst(a + r * a_stride + i, n - i), w, sum[r][k]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    int k = 0;
    for (; k + 4 <= K; k += 4) {
      alignas(16) float four[4];
      _mm_store_ps(four, Sum8x4(sum[r][k], sum[r][k + 1], sum[r][k + 2], sum[r][k + 3]));
      for (int j = 0; j < 4; ++j) out[r * out_row + (k + j) * out_k] = four[j];
    }
    for (; k < K; ++k) out[r * out_row + k * out_k] = Sum8(sum[r][k]);
  }
}

// All products of `rows` rows of a with `count` rows of the matrix b [count, n].
inline void DotRows(const float* a, Dim a_stride, Dim rows, const float* b, Dim count, Dim n, float* out, Dim out_row,
                    Dim out_k) {
  Dim k = 0;
  for (; k + 4 <= count; k += 4) {
    const float* w[4] = {b + k * n, b + (k + 1) * n, b + (k + 2) * n, b + (k + 3) * n};
    Dim r = 0;
    for (; r + 2 <= rows; r += 2) {
      DotTile<2, 4>(a + r * a_stride, a_stride, w, n, out + r * out_row + k * out_k, out_row, out_k);
    }
    if (r < rows) DotTile<1, 4>(a + r * a_stride, a_stride, w, n, out + r * out_row + k * out_k, out_row, out_k);
  }
  for (; k < count; ++k) {
    const float* w[1] = {b + k * n};
    for (Dim r = 0; r < rows; ++r) {
      DotTile<1, 1>(a + r * a_stride, a_stride, w, n, out + r * out_row + k * out_k, out_row, out_k);
    }
  }
}

}  // namespace
}  // namespace hearth::kernels::avx2
