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

namespace hearth::kernels::ref {
void RmsNorm(void* stream, const RmsNormArgs& args);
}  // namespace hearth::kernels::ref

namespace hearth::kernels::avx2 {
void RmsNorm(void* stream, const RmsNormArgs& args);
}  // namespace hearth::kernels::avx2
