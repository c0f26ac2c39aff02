#include "kernels/linear/linear_cuda.h"

#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {

void Linear(void* stream, const LinearArgs& args) {
  if (args.rows == 0) return;
  if (args.phase == Phase::kDecode) {
    LinearDecode(stream, args);
  } else {
    LinearPrefill(stream, args);
  }
}

}  // namespace hearth::kernels::cuda
