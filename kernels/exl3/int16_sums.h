#pragma once

#include "kernels/exl3/int16_row.h"

namespace hearth::kernels {

// sums[rows, 128] += x Q over one strip of a MUL1 matrix. Rows are Int16Row, `stride` bytes apart; sums 64-byte
// aligned. Per output one fma for each block of 128 inputs, ascending; what happens inside a block is exact. So all of
// them give the same bits. One decode serves up to kInt16SharedRows rows.
using Int16Sums = void(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums);
constexpr Dim kInt16SharedRows = 8;

Int16Sums Int16SumsRef;
// Two states in a lane of 32 bits, and one.
Int16Sums Int16SumsAvx2;
Int16Sums Int16SumsAvx2OneState;
// AVX-512 with BW, VL, VBMI, VBMI2 and VNNI. One for processors that shift bits by the shuffle unit beside two
// multipliers (Intel), two for those where that shuffle shares the multipliers' ports (AMD).
Int16Sums Int16SumsAvx512Shuffle;
Int16Sums Int16SumsAvx512Shift;
Int16Sums Int16SumsAvx512ShiftMask;

inline __attribute__((always_inline)) const uint32_t* Exl3StripWords(const MatrixView& w, Dim strip) {
  return static_cast<const uint32_t*>(w.data) + strip * (w.in_padded / kTile) * 64 * w.bits;
}

}  // namespace hearth::kernels
