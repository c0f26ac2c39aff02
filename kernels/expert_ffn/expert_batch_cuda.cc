#include "kernels/expert_ffn/expert_batch_cuda.h"

#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {

void ExpertBatch(void* stream, const ExpertBatchArgs& args) {
  if (args.job_count == 0) return;
  if (args.phase == Phase::kDecode) {
    ExpertBatchDecode(stream, args);
  } else {
    ExpertBatchPrefill(stream, args);
  }
}

}  // namespace hearth::kernels::cuda
