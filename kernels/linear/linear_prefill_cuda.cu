#include "kernels/linear/linear_cuda.h"

namespace hearth::kernels::cuda {

void LinearPrefill(void* stream, const LinearArgs& args) { LinearDecode(stream, args); }

}  // namespace hearth::kernels::cuda
