#pragma once

#include "kernels/real.h"

namespace hearth::kernels::avx2 {

// A panel is a run of k inputs of one strip as fp32: [8][k][16], 16 columns at a time.
constexpr Dim kPanelInputs = 64;  // 32 KiB

// sums [rows, 128] += x panel, in groups of 16 inputs; only a strip's last group may be shorter.
void MultiplyPanel(const float* panel, Dim k, const float* x, Dim stride, Dim rows, float* sums);

}  // namespace hearth::kernels::avx2
