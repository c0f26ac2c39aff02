#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec4.cuh"
#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// One block per row. The mean waits in `out` for its norm: the thread that wrote it reads it back.
__global__ void __launch_bounds__(kThreads) HeadNormKernel(HeadNormArgs args, bool aligned) {
  __shared__ float parts[kThreads / 32];
  AwaitKernelsBefore();
  const Dim hidden = args.hidden;
  const float* streams = args.streams + blockIdx.x * args.hc * hidden;
  float* out = args.out + blockIdx.x * hidden;
  const float count = static_cast<float>(args.hc);
  float squares = 0.0f;
  for (Dim i = 4 * threadIdx.x; i < hidden; i += 4 * kThreads) {
    float4 sum = Load4(streams + i, hidden - i, aligned);
    for (Dim s = 1; s < args.hc; ++s) sum = Add4(sum, Load4(streams + s * hidden + i, hidden - i, aligned));
    const float4 mean = make_float4(sum.x / count, sum.y / count, sum.z / count, sum.w / count);
    Store4(out + i, hidden - i, aligned, mean);
    squares = Dot4(mean, mean, squares);
  }
  const float mean_square = BlockSum<kThreads>(squares, parts) / static_cast<float>(hidden);
  const float r = 1.0f / sqrtf(mean_square + args.eps);
  for (Dim i = 4 * threadIdx.x; i < hidden; i += 4 * kThreads) {
    const float4 v = Load4(out + i, hidden - i, aligned), w = Load4(args.weight + i, hidden - i, aligned);
    Store4(out + i, hidden - i, aligned, Times4(Scale4(r, v), w));
  }
}

}  // namespace

void HeadNorm(void* stream, const HeadNormArgs& args) {
  if (args.rows == 0) return;
  const bool aligned =
      args.hidden % 4 == 0 && IsAligned16(args.streams) && IsAligned16(args.weight) && IsAligned16(args.out);
  LaunchEarly("head_norm", HeadNormKernel, dim3(static_cast<unsigned>(args.rows)), kThreads, 0,
              static_cast<cudaStream_t>(stream), args, aligned);
}

}  // namespace hearth::kernels::cuda
