#pragma once

#include "common/matrix/matrix_view.h"
#include "kernels/phase.h"
#include "kernels/real.h"

namespace hearth::kernels {

// y = x W + bias with an EXL3 or plain matrix. The order of every sum is fixed by the matrix alone, so a row's
// bits do not depend on how many rows there are nor on the number of threads: groups of 16 inputs, each a chain of
// fused multiply-adds from zero, are added in ascending order. (Groups keep the rounding error of long sums small.)
//
// Shapes    x [rows, in_features] with x_stride, y [rows, out_features] with y_stride, overwritten; rows >= 0
// Cost      decodes each weight once for rows <= 16 or so, once per row block above
struct LinearArgs {
  const Real* x = nullptr;
  Dim x_stride = 0;
  Dim rows = 0;
  MatrixView w;
  Real* y = nullptr;
  Dim y_stride = 0;
  Phase phase = Phase::kDecode;  // the host orders both alike
};

// y[r][h] = x[r][h] W[h]: one plain matrix per head, W [heads, in, out] row-major.
struct HeadLinearArgs {
  const Real* x = nullptr;  // [rows, heads, in]
  Dim rows = 0, heads = 0, in = 0, out = 0;
  const float* w = nullptr;
  Real* y = nullptr;  // [rows, heads, out]
  Phase phase = Phase::kDecode;
};

// out = silu(min(gate, limit)) * clamp(up, -limit, limit), elementwise; out may be gate.
struct SwigluArgs {
  const Real* gate = nullptr;  // [rows, width]
  const Real* up = nullptr;
  Dim rows = 0, width = 0;
  float limit = 0;
  Real* out = nullptr;
};

}  // namespace hearth::kernels
