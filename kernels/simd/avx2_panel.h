#pragma once

#include "kernels/simd/avx2_vec.h"

// Products with a panel of 16 columns: c [rows, 16] += or -= a [rows, depth] b [depth, 16]. Every number is one chain
// of fused multiply-adds over ascending depth, begun at its old value; the grouping of rows changes no bit.
namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kPanel = 16;

template <int M, bool kMinus>
inline void PanelTile(const float* a, Dim a_stride, const float* b, Dim b_stride, Dim depth, float* c, Dim c_stride) {
  __m256 sum[M][2];
  for (int r = 0; r < M; ++r) {
    sum[r][0] = _mm256_loadu_ps(c + r * c_stride);
    sum[r][1] = _mm256_loadu_ps(c + r * c_stride + kLanes);
  }
  for (Dim k = 0; k < depth; ++k) {
    const __m256 b0 = _mm256_loadu_ps(b + k * b_stride);
    const __m256 b1 = _mm256_loadu_ps(b + k * b_stride + kLanes);
    for (int r = 0; r < M; ++r) {
      const __m256 v = _mm256_broadcast_ss(a + r * a_stride + k);
      sum[r][0] = kMinus ? _mm256_fnmadd_ps(v, b0, sum[r][0]) : _mm256_fmadd_ps(v, b0, sum[r][0]);
      sum[r][1] = kMinus ? _mm256_fnmadd_ps(v, b1, sum[r][1]) : _mm256_fmadd_ps(v, b1, sum[r][1]);
    }
  }
  for (int r = 0; r < M; ++r) {
    _mm256_storeu_ps(c + r * c_stride, sum[r][0]);
    _mm256_storeu_ps(c + r * c_stride + kLanes, sum[r][1]);
  }
}

template <bool kMinus>
inline void PanelProduct(const float* a, Dim a_stride, Dim rows, const float* b, Dim b_stride, Dim depth, float* c,
                         Dim c_stride) {
  while (rows > 0) {
    Dim done = 1;
    if (rows >= 6 && rows != 8) {
      PanelTile<6, kMinus>(a, a_stride, b, b_stride, depth, c, c_stride);
      done = 6;
    } else if (rows >= 4) {
      PanelTile<4, kMinus>(a, a_stride, b, b_stride, depth, c, c_stride);
      done = 4;
    } else if (rows >= 2) {
      PanelTile<2, kMinus>(a, a_stride, b, b_stride, depth, c, c_stride);
      done = 2;
    } else {
      PanelTile<1, kMinus>(a, a_stride, b, b_stride, depth, c, c_stride);
    }
    a += done * a_stride;
    c += done * c_stride;
    rows -= done;
  }
}

// Subnormal numbers count as 0 while one of these lives: decays reach them, and each would cost a hundred cycles.
class FlushSubnormals {
 public:
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }  // flush results, read as zero
  ~FlushSubnormals() { _mm_setcsr(before_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned before_;
};

}  // namespace
}  // namespace hearth::kernels::avx2
