#pragma once

#include "kernels/cuda/host_device.h"
#include "kernels/real.h"

namespace hearth::kernels {

// From the R = 2H + H*H scaled products of one row to its weights: pre, post, and comb after the Sinkhorn iteration.
// Exp is the caller's exponential, so that each backend uses its own throughout.
struct HcWeightParams {
  const float* base = nullptr;   // [R]
  const float* scale = nullptr;  // [3]: pre, post, comb
  Dim hc = 0;
  float eps = 0;
  int iterations = 0;
};

// Divides every column j by sum_i c[i][j] + eps.
HEARTH_HD inline void HcDivideColumns(Real* c, Dim hc, Real eps) {
  for (Dim j = 0; j < hc; ++j) {
    Real sum = 0;
    for (Dim i = 0; i < hc; ++i) sum += c[i * hc + j];
    for (Dim i = 0; i < hc; ++i) c[i * hc + j] /= sum + eps;
  }
}

HEARTH_HD inline void HcDivideRows(Real* c, Dim hc, Real eps) {
  for (Dim i = 0; i < hc; ++i) {
    Real sum = 0;
    for (Dim j = 0; j < hc; ++j) sum += c[i * hc + j];
    for (Dim j = 0; j < hc; ++j) c[i * hc + j] /= sum + eps;
  }
}

template <typename Exp>
HEARTH_HD void HcWeights(const HcWeightParams& p, const Real* m, Exp exp, Real* pre, Real* post, Real* comb) {
  const Dim hc = p.hc;
  const Real eps = p.eps;
  const auto sigmoid = [&](Real z) { return Real{1} / (Real{1} + exp(-z)); };
  for (Dim s = 0; s < hc; ++s) pre[s] = sigmoid(m[s] * p.scale[0] + p.base[s]) + eps;
  for (Dim j = 0; j < hc; ++j) post[j] = Real{2} * sigmoid(m[hc + j] * p.scale[1] + p.base[hc + j]);
  for (Dim i = 0; i < hc; ++i) {
    Real* c = comb + i * hc;
    const Real* mi = m + 2 * hc + i * hc;
    const float* base = p.base + 2 * hc + i * hc;
    for (Dim j = 0; j < hc; ++j) c[j] = mi[j] * p.scale[2] + base[j];
    Real top = c[0];
    for (Dim j = 1; j < hc; ++j) top = c[j] > top ? c[j] : top;
    Real sum = 0;
    for (Dim j = 0; j < hc; ++j) sum += c[j] = exp(c[j] - top);
    for (Dim j = 0; j < hc; ++j) c[j] = c[j] / sum + eps;
  }
  // The first of the iterations has columns only: the softmax has just normalised the rows.
  if (p.iterations > 0) HcDivideColumns(comb, hc, eps);
  for (int it = 1; it < p.iterations; ++it) {
    HcDivideRows(comb, hc, eps);
    HcDivideColumns(comb, hc, eps);
  }
}

}  // namespace hearth::kernels
