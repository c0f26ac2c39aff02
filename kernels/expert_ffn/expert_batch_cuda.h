#pragma once

#include "kernels/expert_ffn/expert_ffn.h"

namespace hearth::kernels::cuda {

// The two ways through `expert_batch`. They order sums differently, so the phase chooses, never the number of picks.
void ExpertBatchDecode(void* stream, const ExpertBatchArgs& args);
// `exl3_terms`: fp16 numbers that an activation becomes, 1 or 2.
void ExpertBatchPrefill(void* stream, const ExpertBatchArgs& args, int exl3_terms);

}  // namespace hearth::kernels::cuda
