#include "kernels/expert_ffn/expert_batch_cuda.h"

#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {

namespace {

void Run(void* stream, const ExpertBatchArgs& args, int exl3_terms) {
  if (args.job_count == 0) return;
  if (args.phase == Phase::kDecode) {
    ExpertBatchDecode(stream, args);
  } else {
    ExpertBatchPrefill(stream, args, exl3_terms);
  }
}

}  // namespace

void ExpertBatch(void* stream, const ExpertBatchArgs& args) { Run(stream, args, 1); }
void ExpertBatchF16x2(void* stream, const ExpertBatchArgs& args) { Run(stream, args, 2); }

}  // namespace hearth::kernels::cuda
