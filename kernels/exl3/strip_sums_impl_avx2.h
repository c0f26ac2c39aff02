#pragma once

#include "kernels/exl3/decode_avx2.h"
#include "kernels/real.h"

namespace hearth::kernels::avx2 {

// The kernels behind strip_sums_avx2.h. Each codebook fills its table in a file of its own, which keeps compile times
// apart.
constexpr Dim kMaxFusedRows = 4;  // 2 rows of sums each, and the decoder needs the other registers

using StripSumsKernel = void (*)(const uint32_t* strip, Dim k_tiles, const float* x, Dim stride, float* sums);
using PanelKernel = void (*)(const uint32_t* tiles, Dim k_tiles, float* panel);

struct Exl3Kernels {
  Dim max_rows = 1;
  StripSumsKernel strip_sums[8][kMaxFusedRows] = {};  // [K - 1][rows - 1]
  PanelKernel panel[8] = {};
};
const Exl3Kernels& Mul1Kernels();
const Exl3Kernels& McgKernels();
const Exl3Kernels& ThreeInstKernels();

template <uint32_t K, Codebook C, int kRows>
void StripSums(const uint32_t* strip, Dim k_tiles, const float* x, Dim stride, float* sums) {
  constexpr Dim kTileWords = 8 * K;
  constexpr Dim kAhead = 2048;  // bytes; the strip is one sequential run
  for (Dim kt = 0; kt < k_tiles; ++kt, x += kTile) {
    for (Dim tile = 0; tile < 8; ++tile, strip += kTileWords) {
      for (uint32_t line = 0; line < 32 * K; line += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(strip) + kAhead + line, _MM_HINT_T0);
      }
      __m256 first[kRows], second[kRows];
      for (int r = 0; r < kRows; ++r) first[r] = second[r] = _mm256_setzero_ps();
      ForTileRows<K, C>(
          strip, [&](auto j, TileRow w) __attribute__((always_inline)) {
            for (int r = 0; r < kRows; ++r) {
              const __m256 xr = _mm256_broadcast_ss(x + r * stride + j);
              first[r] = _mm256_fmadd_ps(xr, w.first, first[r]);
              second[r] = _mm256_fmadd_ps(xr, w.second, second[r]);
            }
          });
      for (int r = 0; r < kRows; ++r) {
        float* sum = sums + r * kStripColumns + tile * kTile;
        __m256 low, high;
        NaturalColumns(first[r], second[r], &low, &high);
        _mm256_store_ps(sum, _mm256_add_ps(_mm256_load_ps(sum), low));
        _mm256_store_ps(sum + 8, _mm256_add_ps(_mm256_load_ps(sum + 8), high));
      }
    }
  }
}

template <uint32_t K, Codebook C>
void DecodePanel(const uint32_t* tiles, Dim k_tiles, float* panel) {
  for (Dim kt = 0; kt < k_tiles; ++kt) {
    for (Dim tile = 0; tile < 8; ++tile, tiles += 8 * K) {
      float* out = panel + (tile * k_tiles + kt) * kTile * kTile;
      ForTileRows<K, C>(
          tiles, [&](auto j, TileRow w) __attribute__((always_inline)) {
            __m256 low, high;
            NaturalColumns(w.first, w.second, &low, &high);
            _mm256_store_ps(out + j * kTile, low);
            _mm256_store_ps(out + j * kTile + 8, high);
          });
    }
  }
}

template <Codebook C, int kRows>
Exl3Kernels MakeKernels() {
  Exl3Kernels kernels;
  kernels.max_rows = kRows;
  [&]<uint32_t... I>(std::integer_sequence<uint32_t, I...>) {
    ((kernels.panel[I] = DecodePanel<I + 1, C>, kernels.strip_sums[I][0] = StripSums<I + 1, C, 1>), ...);
    if constexpr (kRows >= 4) {
      ((kernels.strip_sums[I][1] = StripSums<I + 1, C, 2>, kernels.strip_sums[I][2] = StripSums<I + 1, C, 3>,
        kernels.strip_sums[I][3] = StripSums<I + 1, C, 4>),
       ...);
    }
  }
  (std::make_integer_sequence<uint32_t, 8>{});
  return kernels;
}

}  // namespace hearth::kernels::avx2
