#include <cuda_runtime.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/kv_element.cuh"
#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {
namespace {

__global__ void StoreLatentsKernel(StoreLatentsArgs args) {
  AwaitKernelsBefore();
  const Dim row = blockIdx.x;
  const Dim slot = args.where.TokenSlot(args.where.row_sequence[row], args.where.row_position[row]);
  for (Dim i = threadIdx.x; i < args.rank; i += blockDim.x) {
    StoreKvElement(args.pool, args.kv_type, slot * args.rank + i, args.latents[row * args.rank + i]);
  }
}

}  // namespace

void StoreLatents(void* stream, const StoreLatentsArgs& args) {
  if (args.rows == 0) return;
  constexpr unsigned kThreads = 256;
  LaunchEarly("StoreLatents", StoreLatentsKernel, dim3(static_cast<unsigned>(args.rows)), kThreads, 0,
              static_cast<cudaStream_t>(stream), args);
}

}  // namespace hearth::kernels::cuda
