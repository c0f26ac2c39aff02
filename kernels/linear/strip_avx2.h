#pragma once

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels::avx2 {

// The two halves of y = x W for one strip of 128 outputs, bit for bit those of strip_ref.h.

// Whether a matrix wants its input rotated; plain ones take x as it is.
inline bool NeedsRotation(const MatrixView& w) { return w.kind == WeightKind::kExl3; }

// x [in_features] -> rotated [in_padded], 32-byte aligned. A copy for plain matrices.
void RotateInput(const MatrixView& w, const float* x, float* rotated);

// Strip `strip` of y for rows of x, rotated where needed: y [rows, 128], 64-byte aligned, finished with Hadamard,
// scale and bias. Uses the panel slot of the thread's scratch.
void StripProduct(const MatrixView& w, Dim strip, const float* x, Dim stride, Dim rows, float* y);
// Its last part: sums in y -> Hadamard, scale and bias.
void FinishStrip(const MatrixView& w, Dim strip, Dim rows, float* y);

}  // namespace hearth::kernels::avx2
