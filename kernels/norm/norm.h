#pragma once

#include "kernels/real.h"

namespace hearth::kernels {

// out = x / sqrt(mean(x^2) + eps) * weight, row by row. out may be x.
struct RmsNormArgs {
  const Real* x = nullptr;        // [rows, dim]
  const float* weight = nullptr;  // [dim]
  Dim rows = 0, dim = 0;
  float eps = 0;
  Real* out = nullptr;  // [rows, dim]
};

}  // namespace hearth::kernels
