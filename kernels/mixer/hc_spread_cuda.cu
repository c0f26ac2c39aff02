#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/vec4.cuh"
#include "kernels/cuda_ops.h"
#include "kernels/mixer/hc_limits_cuda.h"

namespace hearth::kernels::cuda {
namespace {

// Small blocks: one row alone should still reach many multiprocessors.
constexpr int kThreads = 64;

// A thread has one quad of channels of all streams. kStreams 0 takes the number from the arguments.
template <int kStreams>
__global__ void __launch_bounds__(kThreads) HcSpreadKernel(HcSpreadArgs args, bool aligned) {
  AwaitKernelsBefore();
  constexpr int kMost = kStreams > 0 ? kStreams : kMaxStreams;
  const int hc = kStreams > 0 ? kStreams : static_cast<int>(args.hc);
  const Dim hidden = args.hidden, row = blockIdx.x;
  const Dim d = 4 * (static_cast<Dim>(blockIdx.y) * kThreads + threadIdx.x);
  if (d >= hidden) return;
  float* streams = args.streams + row * hc * hidden + d;
  const float* post = args.post + row * hc;
  const float* comb = args.comb + row * hc * hc;
  const float4 y = Load4(args.y + row * hidden + d, hidden - d, aligned);
  float4 old[kMost];
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i < hc) old[i] = Load4(streams + i * hidden, hidden - d, aligned);
  }
  for (int j = 0; j < hc; ++j) {
    float4 sum = Scale4(post[j], y);
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i < hc) sum = Fma4(comb[i * hc + j], old[i], sum);
    }
    Store4(streams + j * hidden, hidden - d, aligned, sum);
  }
}

}  // namespace

void HcSpread(void* stream, const HcSpreadArgs& args) {
  if (args.rows == 0) return;
  CheckStreams(args.hc);
  const bool aligned = args.hidden % 4 == 0 && IsAligned16(args.streams) && IsAligned16(args.y);
  const dim3 grid(static_cast<unsigned>(args.rows),
                  static_cast<unsigned>((args.hidden + 4 * kThreads - 1) / (4 * kThreads)));
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  LaunchEarly("hc_spread", args.hc == 4 ? HcSpreadKernel<4> : HcSpreadKernel<0>, grid, kThreads, 0, on, args, aligned);
}

}  // namespace hearth::kernels::cuda
