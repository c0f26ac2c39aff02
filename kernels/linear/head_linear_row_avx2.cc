#include "kernels/linear/head_linear_row_avx2.h"

#include <immintrin.h>

#include <cmath>

namespace hearth::kernels::avx2 {
namespace {

template <int kVectors>
void Columns(const float* x, const float* w, Dim in, Dim out, float* y) {
  __m256 acc[kVectors];
  for (int v = 0; v < kVectors; ++v) acc[v] = _mm256_setzero_ps();
  for (Dim k = 0; k < in; ++k, w += out) {
    const __m256 xk = _mm256_broadcast_ss(x + k);
    for (int v = 0; v < kVectors; ++v) acc[v] = _mm256_fmadd_ps(xk, _mm256_loadu_ps(w + 8 * v), acc[v]);
  }
  for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(y + 8 * v, acc[v]);
}

}  // namespace

void HeadLinearRow(const float* x, const float* w, Dim in, Dim out, float* y) {
  Dim c = 0;
  for (; c + 64 <= out; c += 64) Columns<8>(x, w + c, in, out, y + c);
  for (; c + 8 <= out; c += 8) Columns<1>(x, w + c, in, out, y + c);
  for (; c < out; ++c) {
    float sum = 0;
    for (Dim k = 0; k < in; ++k) sum = std::fma(x[k], w[k * out + c], sum);
    y[c] = sum;
  }
}

}  // namespace hearth::kernels::avx2
