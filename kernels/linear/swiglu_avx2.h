#pragma once

#include "kernels/real.h"

namespace hearth::kernels::avx2 {

// out[i] = silu(min(gate[i], limit)) * clamp(up[i], -limit, limit) for i < n, any alignment; out may be gate or up.
void SwigluRow(const float* gate, const float* up, Dim n, float limit, float* out);

}  // namespace hearth::kernels::avx2
