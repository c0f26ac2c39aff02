#pragma once

#include <cmath>

#include "kernels/real.h"

namespace hearth::kernels::ref {

// Scalar functions of the reference ops, in Real.
inline Real Sigmoid(Real z) { return Real{1} / (Real{1} + std::exp(-z)); }

// 1 / sqrt(mean(x^2) + eps)
inline Real InverseRms(const Real* x, Dim n, Real eps) {
  Real sum = 0;
  for (Dim i = 0; i < n; ++i) sum += x[i] * x[i];
  return Real{1} / std::sqrt(sum / static_cast<Real>(n) + eps);
}

}  // namespace hearth::kernels::ref
