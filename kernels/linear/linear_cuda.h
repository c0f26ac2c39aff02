#pragma once

#include "kernels/linear/linear.h"

namespace hearth::kernels::cuda {

// The two ways through `linear`. They order sums differently, so the phase chooses, never the number of rows.
void LinearDecode(void* stream, const LinearArgs& args);
// `exl3_terms`: fp16 numbers that an activation becomes, 1 or 2.
void LinearPrefill(void* stream, const LinearArgs& args, int exl3_terms);

}  // namespace hearth::kernels::cuda
