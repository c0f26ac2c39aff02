#pragma once

#include "kernels/linear/linear.h"

namespace hearth::kernels::cuda {

// The two ways through `linear`. They order sums differently, so the phase chooses, never the number of rows.
void LinearDecode(void* stream, const LinearArgs& args);
void LinearPrefill(void* stream, const LinearArgs& args);

}  // namespace hearth::kernels::cuda
