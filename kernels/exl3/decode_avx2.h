#pragma once

#include <immintrin.h>

#include <type_traits>
#include <utility>

#include "common/matrix/matrix_view.h"

namespace hearth::kernels::avx2 {

// Decoding of one EXL3 tile in strip layout in registers. The strip layout puts the word that all eight column pairs
// (c, c+8) need next into the eight lanes of one vector, so every shift is a constant. A tile has 16 steps, one per
// row in the order of kExl3RowOrder; a step yields the row's 16 weights as fp32, exactly rounded to fp16, in two
// vectors whose lanes hold the columns
//     first   0 8 1 9 | 4 12 5 13        second  2 10 3 11 | 6 14 7 15
// (what two 16-bit unpacks make of pairs). NaturalColumns puts sums of them in order.

struct TileRow {
  __m256 first, second;
};

inline __attribute__((always_inline)) void NaturalColumns(__m256 first, __m256 second, __m256* low, __m256* high) {
  *low = _mm256_shuffle_ps(first, second, 0x88);
  *high = _mm256_shuffle_ps(first, second, 0xDD);
}

// The words of a tile, and the same bit string cut 16 bits earlier. Any window of 16 bits lies inside one lane of one
// of the two.
template <uint32_t K>
struct TileWords {
  __m256i word[K], early[K];

  explicit inline __attribute__((always_inline)) TileWords(const uint32_t* tile) {
    for (uint32_t m = 0; m < K; ++m) word[m] = _mm256_load_si256(reinterpret_cast<const __m256i*>(tile) + m);
    // The string is circular: before pair c comes the last word of pair c-1, before pair 0 that of pair 7.
    __m256i previous = _mm256_permutevar8x32_epi32(word[K - 1], _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
    for (uint32_t m = 0; m < K; ++m) {
      early[m] = _mm256_or_si256(_mm256_slli_epi32(previous, 16), _mm256_srli_epi32(word[m], 16));
      previous = word[m];
    }
  }

  // The 16-bit state of stream step `I` of each pair, in the low half (kHigh false) or the high half of the lanes; the
  // other half is anything.
  template <uint32_t I, bool kHigh>
  inline __attribute__((always_inline)) __m256i Window() const {
    constexpr uint32_t kEnd = (I + 1) * K;
    constexpr uint32_t kWord = (kEnd - 1) / 32;
    constexpr uint32_t kAfter = 32 * (kWord + 1) - kEnd;  // bits of the word behind the window
    constexpr bool kEarly = kAfter > 16;
    constexpr int kShift = kEarly ? kAfter - 16 : kAfter;
    const __m256i lanes = kEarly ? early[kWord] : word[kWord];
    if constexpr (kHigh) {
      return _mm256_slli_epi32(lanes, 16 - kShift);
    } else {
      return _mm256_srli_epi32(lanes, kShift);
    }
  }

  // States of row step J: low halves columns c, high halves columns c+8.
  template <uint32_t J>
  inline __attribute__((always_inline)) __m256i States() const {
    constexpr uint32_t kStep = (J & 3) + 8 * (J >> 2);
    return _mm256_blend_epi16(Window<kStep, false>(), Window<kStep + 4, true>(), 0xAA);
  }
};

template <Codebook C>
struct CodebookLanes;

template <>
struct CodebookLanes<Codebook::kMul1> {
  // w = rn16(a S - b), S the byte sum of state * 0x83DCD12D. S is put into the mantissa of 2^23, which makes
  // x = 2^13 (a S - b) one exact fma; x + x/2^13 rounds it to 11 bits, and taking x away leaves w. The tests compare
  // all states.
  static inline __attribute__((always_inline)) __m256i Hash(__m256i states) {
    const __m256i multiplier_low = _mm256_set1_epi16(static_cast<short>(0xD12D));
    const __m256i multiplier_high = _mm256_set1_epi16(static_cast<short>(0x83DC));
    const __m256i ones = _mm256_set1_epi8(1);
    const __m256i low = _mm256_mullo_epi16(states, multiplier_low);
    const __m256i high =
        _mm256_add_epi16(_mm256_mulhi_epu16(states, multiplier_low), _mm256_mullo_epi16(states, multiplier_high));
    return _mm256_add_epi16(_mm256_maddubs_epi16(low, ones), _mm256_maddubs_epi16(high, ones));
  }
  static inline __attribute__((always_inline)) TileRow Values(__m256i sum) {
    const __m256i exponent = _mm256_set1_epi16(0x4B00);
    return {Round(_mm256_castsi256_ps(_mm256_unpacklo_epi16(sum, exponent))),
            Round(_mm256_castsi256_ps(_mm256_unpackhi_epi16(sum, exponent)))};
  }

 private:
  static inline __attribute__((always_inline)) __m256 Round(__m256 sum) {
    const __m256 x = _mm256_fmadd_ps(sum, _mm256_set1_ps(55.4375f), _mm256_set1_ps(-465071744.0f));
    return _mm256_sub_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.0f + 0x1p-13f)), x);
  }
};

// MCG and 3INST: two fp16 numbers of 0.125 <= |h| < 2 per state, their sum rounded to fp16.
template <uint32_t kMultiplier, uint32_t kAddend>
struct SumOfHalvesLanes {
  static inline __attribute__((always_inline)) __m256i Hash(__m256i states) { return states; }
  static inline __attribute__((always_inline)) TileRow Values(__m256i states) {
    const __m256i zero = _mm256_setzero_si256();
    return {One(_mm256_unpacklo_epi16(states, zero)), One(_mm256_unpackhi_epi16(states, zero))};
  }

 private:
  static inline __attribute__((always_inline)) __m256 One(__m256i state) {
    __m256i hash = _mm256_mullo_epi32(state, _mm256_set1_epi32(static_cast<int>(kMultiplier)));
    if constexpr (kAddend != 0) hash = _mm256_add_epi32(hash, _mm256_set1_epi32(static_cast<int>(kAddend)));
    const __m256 sum = _mm256_add_ps(UpperHalf(hash), UpperHalf(_mm256_slli_epi32(hash, 16)));
    // 2^13 sum + sum rounds sum to 11 bits; the tests compare all states.
    return _mm256_fmadd_ps(sum, _mm256_set1_ps(-0x1p13f), _mm256_mul_ps(sum, _mm256_set1_ps(0x1p13f + 1)));
  }
  // The fp16 number (h & 0x8FFF) ^ 0x3B60 for h in the upper half of a lane, as fp32: sign and low 12 bits move to
  // their places; the upper exponent bits are the same for all h and are part of the constant.
  static inline __attribute__((always_inline)) __m256 UpperHalf(__m256i halves) {
    const __m256i moved =
        _mm256_and_si256(_mm256_srai_epi32(halves, 3), _mm256_set1_epi32(static_cast<int>(0x81FFE000)));
    return _mm256_castsi256_ps(_mm256_xor_si256(moved, _mm256_set1_epi32(0x3F6C0000)));
  }
};
template <>
struct CodebookLanes<Codebook::kMcg> : SumOfHalvesLanes<0xCBAC1FEDu, 0> {};
template <>
struct CodebookLanes<Codebook::k3inst> : SumOfHalvesLanes<89226354u, 64248484u> {};

// Calls use(J, TileRow) for J = 0..15, J as an integral constant. Two passes: a step is a chain of some 30 cycles, and
// with all integer work first the processor finds enough independent work in its window (8 to 15 % faster).
template <uint32_t K, Codebook C, typename Use>
inline __attribute__((always_inline)) void ForTileRows(const uint32_t* tile, Use&& use) {
  const TileWords<K> words(tile);
  __m256i hashes[kTile];
  [&]<int... J>(std::integer_sequence<int, J...>) __attribute__((always_inline)) {
    ((hashes[J] = CodebookLanes<C>::Hash(words.template States<J>())), ...);
    for (__m256i& hash : hashes) asm volatile("" : "+m"(hash));  // or the compiler would merge the passes again
    (use(std::integral_constant<int, J>{}, CodebookLanes<C>::Values(hashes[J])), ...);
  }
  (std::make_integer_sequence<int, kTile>{});
}

}  // namespace hearth::kernels::avx2
