#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec4.cuh"
#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// One block per row. A thread sums its quads in ascending order; the tree over threads is fixed.
__global__ void __launch_bounds__(kThreads) RmsNormKernel(RmsNormArgs args, bool aligned) {
  __shared__ float parts[kThreads / 32];
  AwaitKernelsBefore();
  const Dim dim = args.dim;
  const float* x = args.x + blockIdx.x * dim;
  float* out = args.out + blockIdx.x * dim;
  float squares = 0.0f;
  for (Dim i = 4 * threadIdx.x; i < dim; i += 4 * kThreads) {
    const float4 v = Load4(x + i, dim - i, aligned);
    squares = Dot4(v, v, squares);
  }
  const float mean = BlockSum<kThreads>(squares, parts) / static_cast<float>(dim);
  const float r = 1.0f / sqrtf(mean + args.eps);
  for (Dim i = 4 * threadIdx.x; i < dim; i += 4 * kThreads) {
    const float4 v = Load4(x + i, dim - i, aligned), w = Load4(args.weight + i, dim - i, aligned);
    Store4(out + i, dim - i, aligned, Times4(Scale4(r, v), w));
  }
}

}  // namespace

void RmsNorm(void* stream, const RmsNormArgs& args) {
  if (args.rows == 0) return;
  const bool aligned = args.dim % 4 == 0 && IsAligned16(args.x) && IsAligned16(args.weight) && IsAligned16(args.out);
  LaunchEarly("rms_norm", RmsNormKernel, dim3(static_cast<unsigned>(args.rows)), kThreads, 0,
              static_cast<cudaStream_t>(stream), args, aligned);
}

}  // namespace hearth::kernels::cuda
