#pragma once

#include "kernels/mixer/hc_weights.h"
#include "kernels/mixer/mixer.h"
#include "kernels/simd/avx2_vec.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kMaxStreams = kMaxHcStreams;

// HcWeights for eight rows at once, a row per lane: m is [R][8]; pre and post [H][8], comb [H*H][8]. Lanes do not
// meet, so a row's bits do not depend on its neighbours.
inline void HcWeights8(const HcWeightParams& p, const float* m, float* pre, float* post, float* comb) {
  const Dim hc = p.hc;
  const __m256 eps = _mm256_set1_ps(p.eps), one = _mm256_set1_ps(1.0f);
  const auto affine = [&](Dim k, int part) {
    return _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(m + k * kLanes), _mm256_set1_ps(p.scale[part])),
                         _mm256_set1_ps(p.base[k]));
  };
  for (Dim s = 0; s < hc; ++s) {
    _mm256_storeu_ps(pre + s * kLanes, _mm256_add_ps(Sigmoid8(affine(s, 0)), eps));
    const __m256 half = Sigmoid8(affine(hc + s, 1));
    _mm256_storeu_ps(post + s * kLanes, _mm256_add_ps(half, half));
  }

  __m256 c[kMaxStreams * kMaxStreams];
  for (Dim i = 0; i < hc; ++i) {
    __m256* row = c + i * hc;
    for (Dim j = 0; j < hc; ++j) row[j] = affine(2 * hc + i * hc + j, 2);
    __m256 top = row[0];
    for (Dim j = 1; j < hc; ++j) top = _mm256_max_ps(top, row[j]);
    __m256 sum = _mm256_setzero_ps();
    for (Dim j = 0; j < hc; ++j) sum = _mm256_add_ps(sum, row[j] = Exp8(_mm256_sub_ps(row[j], top)));
    for (Dim j = 0; j < hc; ++j) row[j] = _mm256_add_ps(_mm256_div_ps(row[j], sum), eps);
  }
  // Divides the entries first, first + step, .. by their sum + eps.
  const auto divide = [&](Dim first, Dim step) {
    __m256 sum = _mm256_setzero_ps();
    for (Dim k = 0; k < hc; ++k) sum = _mm256_add_ps(sum, c[first + k * step]);
    const __m256 factor = _mm256_div_ps(one, _mm256_add_ps(sum, eps));
    for (Dim k = 0; k < hc; ++k) c[first + k * step] = _mm256_mul_ps(c[first + k * step], factor);
  };
  for (int it = 0; it < p.iterations; ++it) {
    for (Dim i = 0; it > 0 && i < hc; ++i) divide(i * hc, 1);  // the softmax has normalised the rows already
    for (Dim j = 0; j < hc; ++j) divide(j, hc);
  }
  for (Dim k = 0; k < hc * hc; ++k) _mm256_storeu_ps(comb + k * kLanes, c[k]);
}

}  // namespace
}  // namespace hearth::kernels::avx2
