#pragma once

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels::ref {

// The two halves of y = x W for one strip of 128 outputs. They are apart because an expert rotates its rows once and
// then visits the strips in units of work.

// Where value k of the input of `w` lies in a rotated row: the order of the sums.
Dim ChainPosition(const MatrixView& w, Dim k);

// x [in_features] -> rotated [in_padded]: sign and scale, Hadamard, order of the sums. A copy for plain matrices.
void RotateInput(const MatrixView& w, const Real* x, Real* rotated);

// Strip `strip` of y for rows of `rotated` (stride in Reals): y [rows, 128], finished with Hadamard, scale and bias.
void StripProduct(const MatrixView& w, Dim strip, const Real* rotated, Dim stride, Dim rows, Real* y);
// Its last part: sums in y -> Hadamard, scale and bias.
void FinishStrip(const MatrixView& w, Dim strip, Dim rows, Real* y);

}  // namespace hearth::kernels::ref
