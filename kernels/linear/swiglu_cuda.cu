#include <algorithm>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda_ops.h"
#include "kernels/linear/swiglu_cuda.cuh"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr Dim kMostBlocks = 4096;

__global__ void __launch_bounds__(kThreads) SwigluKernel(SwigluArgs args) {
  AwaitKernelsBefore();
  const Dim count = args.rows * args.width;
  const Dim step = Dim{gridDim.x} * kThreads;
  for (Dim i = Dim{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    args.out[i] = DeviceSwiglu(args.gate[i], args.up[i], args.limit);
  }
}

}  // namespace

void Swiglu(void* stream, const SwigluArgs& args) {
  const Dim count = args.rows * args.width;
  if (count == 0) return;
  const Dim blocks = std::min(kMostBlocks, (count + kThreads - 1) / kThreads);
  LaunchEarly("swiglu", SwigluKernel, dim3(static_cast<unsigned>(blocks)), kThreads, 0,
              static_cast<cudaStream_t>(stream), args);
}

}  // namespace hearth::kernels::cuda
