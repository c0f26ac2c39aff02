#include "kernels/cuda/cuda_check.h"
#include "kernels/expert_ffn/expert_batch_cuda.h"

namespace hearth::kernels::cuda {

void ExpertBatchDecode(void*, const ExpertBatchArgs&) { DieOfCuda(cudaErrorNotSupported, "expert_batch"); }

}  // namespace hearth::kernels::cuda
