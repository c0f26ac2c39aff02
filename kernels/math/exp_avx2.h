#pragma once

#include <immintrin.h>

#include "kernels/math/exp.h"

namespace hearth::kernels {

// The eight-lane twins of exp.h, bit for bit. Only for files compiled with AVX2 and FMA.
static inline __m256 Exp8(__m256 x) {
  using namespace exp_constants;
  const __m256 magic = _mm256_set1_ps(kRoundMagic);
  const __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(kLog2e), magic);
  const __m256 n = _mm256_sub_ps(shifted, magic);
  __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kLn2High), x);
  r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kLn2Low), r);
  __m256 q = _mm256_fmadd_ps(_mm256_set1_ps(kQ4), r, _mm256_set1_ps(kQ3));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(kQ2));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(kQ1));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(kQ0));
  const __m256 p = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(r, r), q, r), _mm256_set1_ps(1.0f));
  __m256 y = _mm256_castsi256_ps(
      _mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_castps_si256(shifted), 23)));
  y = _mm256_blendv_ps(y, _mm256_set1_ps(std::numeric_limits<float>::infinity()),
                       _mm256_cmp_ps(x, _mm256_set1_ps(kOverflow), _CMP_GT_OQ));
  y = _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(kUnderflow), _CMP_LT_OQ), y);
  return _mm256_blendv_ps(y, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

static inline __m256 Sigmoid8(__m256 x) {
  const __m256 one = _mm256_set1_ps(1.0f);
  const __m256 e = Exp8(_mm256_or_ps(x, _mm256_set1_ps(-0.0f)));  // -|x|
  const __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
  return _mm256_div_ps(_mm256_blendv_ps(one, e, negative), _mm256_add_ps(one, e));
}

static inline __m256 Silu8(__m256 x) { return _mm256_mul_ps(x, Sigmoid8(x)); }

static inline __m256 Swiglu8(__m256 gate, __m256 up, __m256 limit) {
  // min/max return the second operand for NaN, so the value goes second.
  const __m256 g = _mm256_min_ps(limit, gate);
  const __m256 floor = _mm256_sub_ps(_mm256_setzero_ps(), limit);
  const __m256 u = _mm256_max_ps(floor, _mm256_min_ps(limit, up));
  return _mm256_mul_ps(Silu8(g), u);
}

}  // namespace hearth::kernels
