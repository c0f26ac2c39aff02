#include <cuda_fp16.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/linear/gemv_finish_cuda.cuh"

namespace hearth::kernels::cuda {
namespace {

constexpr int kUnroll = 8;                   // rows of the matrix that a warp loads at once
constexpr int kStep = kUnroll * kGemvWarps;  // inputs that a block takes at once
constexpr int kColumns = static_cast<int>(kStripColumns);

struct Half {
  using Four = uint2;
  static __device__ float4 Floats(Four bits) {
    const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&bits.x));
    const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&bits.y));
    return make_float4(low.x, low.y, high.x, high.y);
  }
};
struct Bfloat {
  using Four = uint2;
  static __device__ float4 Floats(Four bits) {
    return make_float4(__uint_as_float(bits.x << 16), __uint_as_float(bits.x & 0xFFFF0000u),
                       __uint_as_float(bits.y << 16), __uint_as_float(bits.y & 0xFFFF0000u));
  }
};
struct Float {
  using Four = float4;
  static __device__ float4 Floats(Four v) { return v; }
};

// Warp n takes inputs n, n + 8, .. of the slice, a lane four columns; then the warps' sums are added in ascending
// order.
template <typename Element>
__global__ void __launch_bounds__(kGemvThreads)
    PlainGemvKernel(const __grid_constant__ GemvBatch t, int first_matrix, int matrices) {
  using Four = typename Element::Four;
  extern __shared__ __align__(16) unsigned char shared[];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const GemvPlace at = GemvPlaceOf(first_matrix, matrices);
  const GemvShape& shape = t.shape[at.matrix];
  const GemvJob<GemvBatch::kRows>& job = t.job[at.job];
  const int rows = job.rows;
  const int first = at.slice * shape.slice_inputs;
  const int count = min(shape.slice_inputs, shape.in_features - first);
  const Four* from = static_cast<const Four*>(job.matrix[at.matrix].data) +
                     (int64_t{at.strip} * shape.in_features + first) * (kColumns / 4) + lane;

  float* x = reinterpret_cast<float*>(shared);         // [rows_most][slice_inputs]
  float* sums = x + t.rows_most * shape.slice_inputs;  // [rows_most][warps][128]
  AwaitKernelsBefore();
  for (int r = 0; r < rows; ++r) {
    const float* row = t.x + job.x_row[r] * t.x_stride + first;
    for (int k = thread; k < count; k += kGemvThreads) x[r * shape.slice_inputs + k] = row[k];
  }
  __syncthreads();

  float4 sum[GemvBatch::kRows];
#pragma unroll
  for (int r = 0; r < GemvBatch::kRows; ++r) sum[r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int base = warp; base < count; base += kStep) {
    Four weights[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int k = base + u * kGemvWarps;
      if (k < count) weights[u] = __ldg(from + int64_t{k} * (kColumns / 4));
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int k = base + u * kGemvWarps;
      if (k >= count) break;
      const float4 w = Element::Floats(weights[u]);
#pragma unroll
      for (int r = 0; r < GemvBatch::kRows; ++r) {
        if (r < rows) sum[r] = Fma4(x[r * shape.slice_inputs + k], w, sum[r]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < GemvBatch::kRows; ++r) {
    if (r < rows) *reinterpret_cast<float4*>(sums + (r * kGemvWarps + warp) * kColumns + lane * 4) = sum[r];
  }
  __syncthreads();
  float* staging = sums + t.rows_most * kGemvWarps * kColumns;  // [rows_most][128]
  float* partial = GemvPartial(t, at, staging);
  for (int i = thread; i < rows * kColumns; i += kGemvThreads) {
    const float* parts = sums + (i / kColumns) * kGemvWarps * kColumns + i % kColumns;
    float total = parts[0];
#pragma unroll
    for (int n = 1; n < kGemvWarps; ++n) total += parts[n * kColumns];
    partial[i] = total;
  }
  if (first_matrix + matrices != t.matrices) return;  // another launch follows and finishes
  if (GemvLastToArrive(t, at, matrices)) GemvFinish(t, at, staging);
}

template <typename Element>
void Launch(void* stream, const GemvBatch& t, int first, int count) {
  const GemvShape& s = t.shape[first];
  const auto bytes = [](int rows, int slice) {
    return static_cast<size_t>(rows) * (static_cast<size_t>(slice) + (kGemvWarps + 1) * kColumns) * sizeof(float);
  };
  const dim3 grid(static_cast<unsigned>(s.slices), static_cast<unsigned>(s.strips),
                  static_cast<unsigned>(t.job_count * count));
  LaunchEarly("plain product of few rows", PlainGemvKernel<Element>, grid, kGemvThreads,
              bytes(t.rows_most, s.slice_inputs), static_cast<cudaStream_t>(stream), t, first, count);
}

}  // namespace

void LaunchPlainGemv(void* stream, const GemvBatch& table, int first, int count) {
  switch (table.shape[first].kind) {
    case WeightKind::kF16:
      return Launch<Half>(stream, table, first, count);
    case WeightKind::kBf16:
      return Launch<Bfloat>(stream, table, first, count);
    case WeightKind::kF32:
      return Launch<Float>(stream, table, first, count);
    case WeightKind::kExl3:
    case WeightKind::kNone:
      break;
  }
  DieOfCuda(cudaErrorInvalidValue, "kind of a plain matrix");
}

}  // namespace hearth::kernels::cuda
