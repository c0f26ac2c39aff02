#pragma once

#include <cstdint>

#include "kernels/phase.h"
#include "kernels/real.h"

namespace hearth::kernels {

// s = sigma(x W^T); the top_k experts by s + bias (ties to the lower id); weights scale * s / (sum + 1e-20).
// Picks come out in ascending expert id, which is the order in which they are added later.
struct RouterArgs {
  const Real* x = nullptr;        // [rows, hidden]
  const float* weight = nullptr;  // [experts, hidden]
  const float* bias = nullptr;    // [experts], for the choice only
  Dim rows = 0, hidden = 0, experts = 0, top_k = 0;
  float scale = 0;          // routed_scaling_factor
  int32_t* ids = nullptr;   // [rows, top_k]
  Real* weights = nullptr;  // [rows, top_k]
  Phase phase = Phase::kDecode;  // the host orders both alike
};

// y[r] = sum_k weight[r,k] * pick_out[r,k], k ascending, then + shared[r].
struct MoeCombineArgs {
  const Real* pick_out = nullptr;  // [rows, top_k, hidden]
  const Real* weights = nullptr;   // [rows, top_k]
  const Real* shared = nullptr;    // [rows, hidden]
  Dim rows = 0, top_k = 0, hidden = 0;
  Real* y = nullptr;  // [rows, hidden]; may be shared
};

}  // namespace hearth::kernels
