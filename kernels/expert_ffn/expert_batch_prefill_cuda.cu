#include "kernels/expert_ffn/expert_batch_cuda.h"

namespace hearth::kernels::cuda {

void ExpertBatchPrefill(void* stream, const ExpertBatchArgs& args) { ExpertBatchDecode(stream, args); }

}  // namespace hearth::kernels::cuda
