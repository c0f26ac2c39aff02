#include "kernels/linear/linear_cuda.h"

#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {
namespace {

void Multiply(void* stream, const LinearArgs& args, int exl3_terms) {
  if (args.rows == 0) return;
  if (args.phase == Phase::kDecode) {
    LinearDecode(stream, args);
  } else {
    LinearPrefill(stream, args, exl3_terms);
  }
}

}  // namespace

void Linear(void* stream, const LinearArgs& args) { Multiply(stream, args, 1); }
void LinearF16x2(void* stream, const LinearArgs& args) { Multiply(stream, args, 2); }

}  // namespace hearth::kernels::cuda
