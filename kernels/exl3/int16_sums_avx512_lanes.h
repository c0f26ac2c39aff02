#pragma once

#include "kernels/exl3/int16_sums_impl.h"

// GCC 12 takes the deliberately undefined operands inside its own AVX-512 intrinsics for mistakes of the caller.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

namespace hearth::kernels {

// What all AVX-512 kernels do alike with 16-bit lanes. kTag keeps their instantiations apart.
template <int kTag>
struct Avx512Words {
  using Vec = __m512i;

  static HEARTH_INLINE Vec Set16(int v) { return _mm512_set1_epi16(static_cast<short>(v)); }
  static HEARTH_INLINE Vec MulLow(Vec a, Vec b) { return _mm512_mullo_epi16(a, b); }
  static HEARTH_INLINE Vec MulHigh(Vec a, Vec b) { return _mm512_mulhi_epu16(a, b); }
  static HEARTH_INLINE Vec Add16(Vec a, Vec b) { return _mm512_add_epi16(a, b); }
  static HEARTH_INLINE Vec SumBytes(Vec v) { return _mm512_maddubs_epi16(v, _mm512_set1_epi8(1)); }
  static HEARTH_INLINE Vec Dot(Vec sum, Vec a, Vec b) { return _mm512_dpwssd_epi32(sum, a, b); }
};

}  // namespace hearth::kernels
