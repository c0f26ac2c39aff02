#pragma once

#include <immintrin.h>

#include "kernels/exl3/int16_sums_impl.h"

namespace hearth::kernels {

HEARTH_INLINE __m256i LoadWords(const uint32_t* tile, uint32_t word) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(tile + 8 * word));
}

HEARTH_INLINE __m256i Halves(__m256i low, __m256i high) { return _mm256_blend_epi16(low, high, 0xAA); }

HEARTH_INLINE __m256i SwapHalves(__m256i v) {
  return _mm256_shuffle_epi8(
      v, _mm256_set_epi64x(0x0D0C0F0E09080B0A, 0x0504070601000302, 0x0D0C0F0E09080B0A, 0x0504070601000302));
}

// The string of a tile is circular: before pair c comes the last word of pair c-1, before pair 0 that of pair 7.
HEARTH_INLINE __m256i PreviousPair(__m256i v) {
  return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
}

}  // namespace hearth::kernels
