#include <immintrin.h>

#include "kernels/exl3/int16_row.h"

namespace hearth::kernels::avx2 {
namespace {

template <typename Op>
int32_t Fold(__m256i v, Op op) {
  const __m128i four = op(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i two = op(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(op(two, _mm_shuffle_epi32(two, 0xB1)));
}

}  // namespace

void QuantizeBlock(const float* x, int16_t* values, float* scale, int32_t* start) {
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i largest = _mm256_setzero_si256();  // as bits, which puts NaN above all
  for (Dim i = 0; i < kInt16Block; i += 8) {
    largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + i)), magnitude));
  }
  const int32_t bits = Fold(largest, [](__m128i a, __m128i b) { return _mm_max_epi32(a, b); });
  const float most = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
  const bool finite = bits < 0x7F800000;
  if (!finite || !(most >= kInt16Least)) {
    for (Dim i = 0; i < kInt16Block; ++i) values[i] = 0;
    *start = 0;
    *scale = finite ? 0.0f : __builtin_nanf("");
    return;
  }
  *scale = most * (kMul1Alpha / kInt16Largest);
  const __m256 inverse = _mm256_set1_ps(kInt16Largest / most);
  __m256i sum = _mm256_setzero_si256();
  for (Dim i = 0; i < kInt16Block; i += 16) {
    const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i), inverse));
    const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i + 8), inverse));
    sum = _mm256_add_epi32(sum, _mm256_add_epi32(low, high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + i),
                        _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8));
  }
  *start = -510 * Fold(sum, [](__m128i a, __m128i b) { return _mm_add_epi32(a, b); });
}

}  // namespace hearth::kernels::avx2
