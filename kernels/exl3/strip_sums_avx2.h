#pragma once

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels::avx2 {

// Largest number of rows that Exl3StripSums takes for a codebook; more rows are cheaper through a panel.
Dim Exl3StripSumsRows(Codebook codebook);

// sums[rows, 128] += x Q over one strip of an EXL3 matrix, decoding in registers. x is rotated rows with `stride`;
// 1 <= rows <= Exl3StripSumsRows().
void Exl3StripSums(const MatrixView& w, Dim strip, const float* x, Dim stride, Dim rows, float* sums);

// Tiles [k_tile, k_tile + k_tiles) of a strip as fp32: panel [8 tiles][16 * k_tiles][16], rows in the order of the
// sums.
void Exl3DecodePanel(const MatrixView& w, Dim strip, Dim k_tile, Dim k_tiles, float* panel);

}  // namespace hearth::kernels::avx2
