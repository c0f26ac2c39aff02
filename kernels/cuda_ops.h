#pragma once

#include "kernels/op_list.h"

namespace hearth::kernels::cuda {

// The CUDA ops. Pointers are device pointers, or mapped host memory where reading it is the purpose (embedding table,
// expert records).
HEARTH_OPS(HEARTH_DECLARE_OP)
void ExpertBatch(void* stream, const ExpertBatchArgs&);
// PrefillOperands::kF16x2.
void LinearF16x2(void* stream, const LinearArgs&);
void ExpertBatchF16x2(void* stream, const ExpertBatchArgs&);

}  // namespace hearth::kernels::cuda
