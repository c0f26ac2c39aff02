#pragma once

#include <immintrin.h>

#include "kernels/exl3/int16_sums_impl.h"

namespace hearth::kernels {

// Where the 16 bits of a step lie: `shift` bits above the end of a lane of the words, or of the words cut 16 bits
// earlier. Any window of 16 bits lies inside one lane of one of the two.
struct StatePlace {
  uint32_t word = 0;
  bool early = false;
  int shift = 0;
};

template <uint32_t K>
constexpr StatePlace PlaceOfStep(uint32_t step) {
  const uint32_t end = (step + 1) * K;
  const uint32_t word = (end - 1) / 32;
  const auto after = static_cast<int>(32 * (word + 1) - end);  // bits of the word behind the window
  return {word, after > 16, after > 16 ? after - 16 : after};
}

HEARTH_INLINE __m256i LoadWords(const uint32_t* tile, uint32_t word) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(tile + 8 * word));
}

HEARTH_INLINE __m256i Halves(__m256i low, __m256i high) { return _mm256_blend_epi16(low, high, 0xAA); }

HEARTH_INLINE __m256i SwapHalves(__m256i v) {
  return _mm256_shuffle_epi8(
      v, _mm256_set_epi64x(0x0D0C0F0E09080B0A, 0x0504070601000302, 0x0D0C0F0E09080B0A, 0x0504070601000302));
}

// The string of a tile is circular: before pair c comes the last word of pair c-1, before pair 0 that of pair 7.
HEARTH_INLINE __m256i NextPair(__m256i v) {
  return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
}

}  // namespace hearth::kernels
