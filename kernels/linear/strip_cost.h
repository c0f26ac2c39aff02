#pragma once

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels {

constexpr Dim kCostPerTask = 100 * 1000;  // below this, another thread costs more than it saves

// Time of one strip with `rows` rows, in weights of a one-row product: a decode costs about as much as 8 rows of
// products from a panel.
inline Dim StripCost(const MatrixView& w, Dim rows) { return w.in_padded * kStripColumns * (8 + rows) / 9 + 1; }

inline Dim GrainFor(Dim cost_of_one) { return cost_of_one >= kCostPerTask ? 1 : kCostPerTask / (cost_of_one + 1) + 1; }

}  // namespace hearth::kernels
