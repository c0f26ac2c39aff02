#include "kernels/linear/panel_avx2.h"

#include <immintrin.h>

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels::avx2 {
namespace {

// kRows x 16 outputs. The sums stay in memory between groups, so that a group is a chain from zero.
template <int kRows>
inline __attribute__((always_inline)) void MultiplyBlock(const float* weights, Dim k, const float* x, Dim stride,
                                                         float* sums) {
  for (Dim first = 0; first < k; first += kTile) {
    const Dim count = k - first < kTile ? k - first : kTile;
    __m256 low[kRows], high[kRows];
    for (int r = 0; r < kRows; ++r) low[r] = high[r] = _mm256_setzero_ps();
    for (Dim i = 0; i < count; ++i, weights += kTile) {
      const __m256 w_low = _mm256_load_ps(weights), w_high = _mm256_load_ps(weights + 8);
      for (int r = 0; r < kRows; ++r) {
        const __m256 xr = _mm256_broadcast_ss(x + r * stride + first + i);
        low[r] = _mm256_fmadd_ps(xr, w_low, low[r]);
        high[r] = _mm256_fmadd_ps(xr, w_high, high[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      float* sum = sums + r * kStripColumns;
      _mm256_store_ps(sum, _mm256_add_ps(_mm256_load_ps(sum), low[r]));
      _mm256_store_ps(sum + 8, _mm256_add_ps(_mm256_load_ps(sum + 8), high[r]));
    }
  }
}

}  // namespace

void MultiplyPanel(const float* panel, Dim k, const float* x, Dim stride, Dim rows, float* sums) {
  for (Dim tile = 0; tile < 8; ++tile, panel += k * kTile) {
    float* column = sums + tile * kTile;
    Dim r = 0;
    for (; r + 6 <= rows; r += 6) MultiplyBlock<6>(panel, k, x + r * stride, stride, column + r * kStripColumns);
    const float* rest = x + r * stride;
    column += r * kStripColumns;
    switch (rows - r) {
      case 5:
        MultiplyBlock<5>(panel, k, rest, stride, column);
        break;
      case 4:
        MultiplyBlock<4>(panel, k, rest, stride, column);
        break;
      case 3:
        MultiplyBlock<3>(panel, k, rest, stride, column);
        break;
      case 2:
        MultiplyBlock<2>(panel, k, rest, stride, column);
        break;
      case 1:
        MultiplyBlock<1>(panel, k, rest, stride, column);
        break;
      default:
        break;
    }
  }
}

}  // namespace hearth::kernels::avx2
