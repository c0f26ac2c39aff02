#pragma once

#include "kernels/real.h"

namespace hearth::kernels {

// Hyper-connections ("mHC"): collapse H residual streams into one normalised sublayer input, and say how to spread
// the sublayer's output back. R = 2H + H*H. Formula: docs/model.md, "Mixers"; all of it in fp32.
constexpr Dim kMaxHcStreams = 8;  // H that every backend has room for
struct HcMixArgs {
  const Real* streams = nullptr;       // [rows, H, D]
  const float* fn = nullptr;           // [R, H*D]
  const float* base = nullptr;         // [R]
  const float* scale = nullptr;        // [3]: pre, post, comb
  const float* norm_weight = nullptr;  // [D], RMSNorm of the collapsed vector
  Dim rows = 0, hc = 0, hidden = 0;
  float rms_eps = 0;
  float hc_eps = 0;
  int iterations = 0;
  Real* x = nullptr;     // [rows, D]
  Real* post = nullptr;  // [rows, H]
  Real* comb = nullptr;  // [rows, H, H], entry (i, j)
};

// streams'[j] = post[j] * y + sum_i comb[i][j] * streams[i], in place.
struct HcSpreadArgs {
  Real* streams = nullptr;     // [rows, H, D]
  const Real* y = nullptr;     // [rows, D]
  const Real* post = nullptr;  // [rows, H]
  const Real* comb = nullptr;  // [rows, H, H]
  Dim rows = 0, hc = 0, hidden = 0;
};

// Mean over the streams, then RMSNorm: the input of the head.
struct HeadNormArgs {
  const Real* streams = nullptr;  // [rows, H, D]
  const float* weight = nullptr;  // [D]
  Dim rows = 0, hc = 0, hidden = 0;
  float eps = 0;
  Real* out = nullptr;  // [rows, D]
};

}  // namespace hearth::kernels
