#pragma once

#include <immintrin.h>

#include <utility>

#include "kernels/exl3/int16_sums.h"

namespace hearth::kernels {

// The int16 kernel by shifts, for vectors of 8 lanes (one tile) or 16 lanes (two tiles). A lane is a column pair
// (c, c+8) of a tile; its halves take two steps of the pair's stream that meet the same column and adjacent rows, which
// is what a multiplication of int16 pairs sums up. `V` gives the instructions:
//   Vec, kTiles; Stream<K>(tile), which cuts windows out of the pairs' words;
//   Sums<P>(stream, first, second), the byte sums of steps 2P, 2P+1 in the halves of one vector and of 2P+2, 2P+3 in
//   those of another; Dot (32-bit sum of int16 pairs added to an accumulator); Set32, Broadcast32;
//   Flush(columns c, columns c+8, scale, sums)
// Each instruction set instantiates it in a file of its own with a V of its own.
#define HEARTH_INLINE inline __attribute__((always_inline))

constexpr Dim kBlockTiles = kInt16Block / kTile;
constexpr Dim kInt16Ahead = 8192;  // bytes that a strip is prefetched ahead: it is one sequential run

// Where the 16 bits of a step lie: `shift` bits above the end of a lane of the words, or of the words cut 16 bits
// earlier. Any window of 16 bits lies inside one lane of one of the two.
struct StatePlace {
  uint32_t word = 0;
  bool early = false;
  int shift = 0;
};

template <uint32_t K>
consteval StatePlace PlaceOfStep(uint32_t step) {
  const uint32_t end = (step + 1) * K;
  const uint32_t word = (end - 1) / 32;
  const auto after = static_cast<int>(32 * (word + 1) - end);  // bits of the word behind the window
  return {word, after > 16, after > 16 ? after - 16 : after};
}

// S, the byte sum of state * 0x83DCD12D, in every 16 bits.
template <typename V>
HEARTH_INLINE typename V::Vec ByteSums(typename V::Vec states) {
  const auto low = V::MulLow(states, V::Set16(0xD12D));
  const auto high = V::Add16(V::MulHigh(states, V::Set16(0xD12D)), V::MulLow(states, V::Set16(0x83DC)));
  return V::Add16(V::SumBytes(low), V::SumBytes(high));
}

template <typename V, uint32_t K, int kRows>
void SumByShifts(const uint32_t* strip, Dim blocks, const std::byte* x, Dim stride, float* sums) {
  constexpr Dim kBlockWords = kBlockTiles * 64 * K;
  for (Dim b = 0; b < blocks; ++b, strip += kBlockWords) {
    for (Dim group = 0; group < 8; group += V::kTiles) {
      typename V::Vec acc[kRows][2];
      for (int r = 0; r < kRows; ++r) {
        acc[r][0] = acc[r][1] = V::Set32(Int16Row(x + r * stride, blocks * kInt16Block).starts[b]);
      }
      const uint32_t* tile = strip + group * 8 * K;
      const char* ahead = reinterpret_cast<const char*>(strip) + kInt16Ahead + group * kBlockTiles * 32 * K;
      const std::byte* pairs = x + b * kInt16Block * 2;
      for (Dim kt = 0; kt < kBlockTiles; ++kt, tile += 64 * K, pairs += kTile * 2) {
        for (Dim byte = 0; byte < 32 * K * V::kTiles; byte += 64) _mm_prefetch(ahead + byte, _MM_HINT_T0);
        ahead += 32 * K * V::kTiles;
        const typename V::template Stream<K> stream(tile);
        [&]<uint32_t... P>(std::integer_sequence<uint32_t, P...>) __attribute__((always_inline)) {
          const auto add = [&](auto two) __attribute__((always_inline)) {
            // Pairs 4q, 4q+1 meet rows (2q, 2q+1), (2q+8, 2q+9) of columns c, pairs 4q+2, 4q+3 those of c+8.
            constexpr uint32_t kPair = 2 * decltype(two)::value;
            typename V::Vec first, second;
            V::template Sums<kPair>(stream, &first, &second);
            for (int r = 0; r < kRows; ++r) {
              const std::byte* x_rows = pairs + r * stride + 8 * (kPair >> 2);
              typename V::Vec& sum = acc[r][kPair >> 1 & 1];
              sum = V::Dot(sum, first, V::Broadcast32(x_rows));
              sum = V::Dot(sum, second, V::Broadcast32(x_rows + 4));
            }
          };
          (add(std::integral_constant<uint32_t, P>{}), ...);
        }
        (std::make_integer_sequence<uint32_t, 8>{});
      }
      for (int r = 0; r < kRows; ++r) {
        const Int16Row row(x + r * stride, blocks * kInt16Block);
        V::Flush(acc[r][0], acc[r][1], row.scales[b], sums + r * kStripColumns + group * kTile);
      }
    }
  }
}

using Int16BlocksKernel = void (*)(const uint32_t* strip, Dim blocks, const std::byte* x, Dim stride, float* sums);

// The kernels of one instruction set by K and rows; more rows go in several passes.
template <template <uint32_t, int> class Kernel, int kMaxRows>
struct Int16Table {
  Int16BlocksKernel kernel[8][kMaxRows];

  constexpr Int16Table() {
    [this]<uint32_t... K>(std::integer_sequence<uint32_t, K...>) {
      (FillRows<K + 1>(std::make_integer_sequence<int, kMaxRows>{}), ...);
    }
    (std::make_integer_sequence<uint32_t, 8>{});
  }

  void Sum(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) const {
    const auto* first = static_cast<const std::byte*>(x);
    for (Dim r = 0; r < rows; r += kMaxRows) {
      const Dim together = rows - r < kMaxRows ? rows - r : kMaxRows;
      kernel[w.bits - 1][together - 1](Exl3StripWords(w, strip), w.in_padded / kInt16Block, first + r * stride, stride,
                                       sums + r * kStripColumns);
    }
  }

 private:
  template <uint32_t K, int... R>
  constexpr void FillRows(std::integer_sequence<int, R...>) {
    ((kernel[K - 1][R] = Kernel<K, R + 1>::Run), ...);
  }
};

}  // namespace hearth::kernels
