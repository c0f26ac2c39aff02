#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec4.cuh"
#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {
namespace {

// A warp has one head of one row: quads of channels in ascending steps of 128, then the tree over its lanes.
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kStep = 128;

__device__ float SumOfSquares(const float* x, int dim, int first, bool aligned) {
  float sum = 0.0f;
  for (int c = first; c < dim; c += kStep) {
    const float4 v = Load4(x + c, dim - c, aligned);
    sum = Dot4(v, v, sum);
  }
  return WarpSum(sum);
}

__device__ void ScaleHead(float* x, int dim, int first, bool aligned, float factor) {
  for (int c = first; c < dim; c += kStep) {
    Store4(x + c, dim - c, aligned, Scale4(factor, Load4(x + c, dim - c, aligned)));
  }
}

__device__ float4 Sigmoid4(float4 z) {
  return make_float4(DeviceSigmoid(z.x), DeviceSigmoid(z.y), DeviceSigmoid(z.z), DeviceSigmoid(z.w));
}

__global__ void __launch_bounds__(kThreads) KdaPrepareKernel(KdaPrepareArgs args, bool aligned) {
  AwaitKernelsBefore();
  const Dim unit = static_cast<Dim>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (unit >= args.rows * args.heads) return;
  const Dim row = unit / args.heads, head = unit % args.heads, width = args.heads * args.dim;
  const int dim = static_cast<int>(args.dim), first = 4 * (threadIdx.x % 32);
  float* q = args.qkv + row * 3 * width + head * dim;
  float* k = q + width;
  const float q_squares = SumOfSquares(q, dim, first, aligned), k_squares = SumOfSquares(k, dim, first, aligned);
  // The epsilon is the model's own and has no key.
  ScaleHead(q, dim, first, aligned, 1.0f / sqrtf(static_cast<float>(dim)) / sqrtf(q_squares + 1e-6f));
  ScaleHead(k, dim, first, aligned, 1.0f / sqrtf(k_squares + 1e-6f));

  const float rate = expf(args.a_log[head]);
  const float* f = args.f + row * width + head * dim;
  const float* dt_bias = args.dt_bias + head * dim;
  float* g = args.g + row * width + head * dim;
  for (int c = first; c < dim; c += kStep) {
    const float4 z = Add4(Load4(f + c, dim - c, aligned), Load4(dt_bias + c, dim - c, aligned));
    Store4(g + c, dim - c, aligned, Scale4(args.lower_bound, Sigmoid4(Scale4(rate, z))));
  }
  if (first == 0) args.beta[unit] = DeviceSigmoid(args.b[unit]);
}

__global__ void __launch_bounds__(kThreads) KdaOutputKernel(KdaOutputArgs args, bool aligned) {
  AwaitKernelsBefore();
  const Dim unit = static_cast<Dim>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (unit >= args.rows * args.heads) return;
  const int dim = static_cast<int>(args.dim), first = 4 * (threadIdx.x % 32);
  const float* o = args.o + unit * dim;
  const float* gate = args.gate + unit * dim;
  float* out = args.out + unit * dim;
  const float mean = SumOfSquares(o, dim, first, aligned) / static_cast<float>(dim);
  const float r = 1.0f / sqrtf(mean + args.eps);
  for (int c = first; c < dim; c += kStep) {
    const float4 n = Times4(Scale4(r, Load4(o + c, dim - c, aligned)), Load4(args.weight + c, dim - c, aligned));
    Store4(out + c, dim - c, aligned, Times4(n, Sigmoid4(Load4(gate + c, dim - c, aligned))));
  }
}

unsigned BlocksOf(Dim units) { return static_cast<unsigned>((units + kWarps - 1) / kWarps); }

}  // namespace

void KdaPrepare(void* stream, const KdaPrepareArgs& args) {
  if (args.rows == 0) return;
  const bool aligned = args.dim % 4 == 0 && IsAligned16(args.qkv) && IsAligned16(args.f) && IsAligned16(args.dt_bias) &&
                       IsAligned16(args.g);
  LaunchEarly("kda_prepare", KdaPrepareKernel, dim3(BlocksOf(args.rows * args.heads)), kThreads, 0,
              static_cast<cudaStream_t>(stream), args, aligned);
}

void KdaOutput(void* stream, const KdaOutputArgs& args) {
  if (args.rows == 0) return;
  const bool aligned = args.dim % 4 == 0 && IsAligned16(args.o) && IsAligned16(args.gate) && IsAligned16(args.weight) &&
                       IsAligned16(args.out);
  LaunchEarly("kda_output", KdaOutputKernel, dim3(BlocksOf(args.rows * args.heads)), kThreads, 0,
              static_cast<cudaStream_t>(stream), args, aligned);
}

}  // namespace hearth::kernels::cuda
