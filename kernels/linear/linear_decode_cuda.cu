#include "kernels/cuda/cuda_check.h"
#include "kernels/linear/linear_cuda.h"

namespace hearth::kernels::cuda {

void LinearDecode(void*, const LinearArgs&) { DieOfCuda(cudaErrorNotSupported, "linear"); }

}  // namespace hearth::kernels::cuda
