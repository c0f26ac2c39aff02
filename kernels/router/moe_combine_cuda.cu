#include <cuda_runtime.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// y may be shared, hence no __restrict__: a thread reads each number before it writes it, and nobody else does either.
template <typename Vector>
__device__ Vector Fused(float weight, Vector x, Vector sum);
template <>
__device__ float Fused(float weight, float x, float sum) {
  return fmaf(weight, x, sum);
}
template <>
__device__ float4 Fused(float weight, float4 x, float4 sum) {
  return {fmaf(weight, x.x, sum.x), fmaf(weight, x.y, sum.y), fmaf(weight, x.z, sum.z), fmaf(weight, x.w, sum.w)};
}
__device__ float Added(float a, float b) { return a + b; }
__device__ float4 Added(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

// `width` vectors per row.
template <typename Vector>
__global__ void MoeCombineKernel(MoeCombineArgs args, Dim width) {
  AwaitKernelsBefore();
  const Dim row = blockIdx.x, d = static_cast<Dim>(blockIdx.y) * kThreads + threadIdx.x;
  if (d >= width) return;
  const Vector* pick = reinterpret_cast<const Vector*>(args.pick_out) + row * args.top_k * width + d;
  Vector sum{};
#pragma unroll 8
  for (Dim k = 0; k < args.top_k; ++k) sum = Fused(args.weights[row * args.top_k + k], pick[k * width], sum);
  const Vector shared = reinterpret_cast<const Vector*>(args.shared)[row * width + d];
  reinterpret_cast<Vector*>(args.y)[row * width + d] = Added(sum, shared);
}

template <typename Vector>
void Launch(cudaStream_t stream, const MoeCombineArgs& args, Dim width) {
  const dim3 grid(static_cast<unsigned>(args.rows), static_cast<unsigned>((width + kThreads - 1) / kThreads));
  LaunchEarly("MoeCombine", MoeCombineKernel<Vector>, grid, kThreads, 0, stream, args, width);
}

bool Aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % sizeof(float4) == 0; }

}  // namespace

void MoeCombine(void* stream, const MoeCombineArgs& args) {
  if (args.rows == 0) return;
  const auto s = static_cast<cudaStream_t>(stream);
  // Numbers never meet, so four at once have the same bits.
  if (args.hidden % 4 == 0 && Aligned(args.pick_out) && Aligned(args.shared) && Aligned(args.y)) {
    Launch<float4>(s, args, args.hidden / 4);
  } else {
    Launch<float>(s, args, args.hidden);
  }
}

}  // namespace hearth::kernels::cuda
