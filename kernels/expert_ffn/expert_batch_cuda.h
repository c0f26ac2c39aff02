#pragma once

#include "kernels/expert_ffn/expert_ffn.h"

namespace hearth::kernels::cuda {

// The two ways through `expert_batch`. They order sums differently, so the phase chooses, never the number of picks.
void ExpertBatchDecode(void* stream, const ExpertBatchArgs& args);
void ExpertBatchPrefill(void* stream, const ExpertBatchArgs& args);

}  // namespace hearth::kernels::cuda
