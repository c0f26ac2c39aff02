#pragma once

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels::avx2 {

// Largest number of rows that PlainStripSums takes.
constexpr Dim kPlainFusedRows = 4;

// sums [rows, 128] += x W over one strip of a plain matrix, converting in registers. 1 <= rows <= kPlainFusedRows.
void PlainStripSums(const MatrixView& w, Dim strip, const float* x, Dim stride, Dim rows, float* sums);

// Inputs [first, first + k) of a strip as a panel (panel_avx2.h).
void PlainPanel(const MatrixView& w, Dim strip, Dim first, Dim k, float* panel);

}  // namespace hearth::kernels::avx2
