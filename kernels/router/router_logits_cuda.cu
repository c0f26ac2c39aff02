#include <cuda_runtime.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/router/router_logits.cuh"

namespace hearth::kernels::cuda {
namespace {

constexpr int kDecodeThreads = 128;
constexpr int kDecodeRows = 8;  // that share one read of the weights

// Numbers [i, i + 4) of a vector of n, zeros past its end.
__device__ __forceinline__ float4 Load4(const float* v, Dim i, Dim n, bool whole) {
  if (whole) return i < n ? *reinterpret_cast<const float4*>(v + i) : float4{};  // n is a multiple of 4
  return {i < n ? v[i] : 0.0f, i + 1 < n ? v[i + 1] : 0.0f, i + 2 < n ? v[i + 2] : 0.0f, i + 3 < n ? v[i + 3] : 0.0f};
}

// One expert per block, up to kDecodeRows rows.
__global__ void __launch_bounds__(kDecodeThreads) DecodeLogits(RouterArgs args, bool whole, float* logits) {
  AwaitKernelsBefore();
  const Dim e = blockIdx.x, n = args.hidden, first = static_cast<Dim>(blockIdx.y) * kDecodeRows;
  const int rows = static_cast<int>(min(static_cast<Dim>(kDecodeRows), args.rows - first));
  const float* weight = args.weight + e * n;
  const float* x = args.x + first * n;
  float sum[kDecodeRows] = {};
#pragma unroll 4
  for (Dim i = static_cast<Dim>(threadIdx.x) * 4; i < n; i += kDecodeThreads * 4) {
    const float4 w = Load4(weight, i, n, whole);
#pragma unroll
    for (int r = 0; r < kDecodeRows; ++r) {
      if (r >= rows) break;
      const float4 v = Load4(x + r * n, i, n, whole);
      sum[r] = fmaf(w.w, v.w, fmaf(w.z, v.z, fmaf(w.y, v.y, fmaf(w.x, v.x, sum[r]))));
    }
  }
  __shared__ float partial[kDecodeRows][kDecodeThreads / 32];
#pragma unroll
  for (int r = 0; r < kDecodeRows; ++r) {
    if (r >= rows) break;
    const float total = WarpSum(sum[r]);
    if (threadIdx.x % 32 == 0) partial[r][threadIdx.x / 32] = total;
  }
  __syncthreads();
  if (threadIdx.x < rows) {
    const float* p = partial[threadIdx.x];
    logits[(first + threadIdx.x) * args.experts + e] = ((p[0] + p[1]) + p[2]) + p[3];
  }
}

constexpr int kTileRows = 64, kTileExperts = 96, kTileK = 32;
constexpr int kThreadRows = 8, kThreadExperts = 6;
constexpr int kPrefillThreads = (kTileRows / kThreadRows) * (kTileExperts / kThreadExperts);
static_assert(kPrefillThreads == 128);

// A tile of rows x experts per block. A thread's rows and experts lie 8 and 16 apart, so that neighbouring threads read
// neighbouring shared memory.
__global__ void __launch_bounds__(kPrefillThreads) PrefillLogits(RouterArgs args, bool whole, float* logits) {
  __shared__ float xs[kTileK][kTileRows + 1], ws[kTileK][kTileExperts + 1];
  const int tid = static_cast<int>(threadIdx.x), row_of = tid / 16, expert_of = tid % 16;
  const Dim n = args.hidden, row0 = static_cast<Dim>(blockIdx.x) * kTileRows;
  const Dim expert0 = static_cast<Dim>(blockIdx.y) * kTileExperts;
  float total[kThreadRows][kThreadExperts] = {};
  for (Dim k0 = 0; k0 < n; k0 += kTileK) {
    // Eight threads read one row's 32 inputs.
    for (int i = tid; i < (kTileRows + kTileExperts) * (kTileK / 4); i += kPrefillThreads) {
      const int line = i / (kTileK / 4), k = i % (kTileK / 4) * 4;
      const bool is_x = line < kTileRows;
      const Dim at = is_x ? row0 + line : expert0 + line - kTileRows;
      float4 v{};
      if (at < (is_x ? args.rows : args.experts)) v = Load4((is_x ? args.x : args.weight) + at * n, k0 + k, n, whole);
      const float four[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (is_x) {
          xs[k + j][line] = four[j];
        } else {
          ws[k + j][line - kTileRows] = four[j];
        }
      }
    }
    __syncthreads();
    float sum[kThreadRows][kThreadExperts] = {};
#pragma unroll 8
    for (int k = 0; k < kTileK; ++k) {
      float x[kThreadRows], w[kThreadExperts];
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) x[r] = xs[k][row_of + 8 * r];
#pragma unroll
      for (int e = 0; e < kThreadExperts; ++e) w[e] = ws[k][expert_of + 16 * e];
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
        for (int e = 0; e < kThreadExperts; ++e) sum[r][e] = fmaf(w[e], x[r], sum[r][e]);
      }
    }
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
      for (int e = 0; e < kThreadExperts; ++e) total[r][e] += sum[r][e];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
    const Dim row = row0 + row_of + 8 * r;
    if (row >= args.rows) continue;
#pragma unroll
    for (int e = 0; e < kThreadExperts; ++e) {
      const Dim expert = expert0 + expert_of + 16 * e;
      if (expert < args.experts) logits[row * args.experts + expert] = total[r][e];
    }
  }
}

bool Aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % sizeof(float4) == 0; }

unsigned Blocks(Dim count, Dim per_block) { return static_cast<unsigned>((count + per_block - 1) / per_block); }

}  // namespace

void RouterLogits(cudaStream_t stream, const RouterArgs& args, float* logits) {
  const bool whole = args.hidden % 4 == 0 && Aligned(args.x) && Aligned(args.weight);
  if (args.phase == Phase::kDecode) {
    const dim3 grid(static_cast<unsigned>(args.experts), Blocks(args.rows, kDecodeRows));
    LaunchEarly("DecodeLogits", DecodeLogits, grid, kDecodeThreads, 0, stream, args, whole, logits);
  } else {
    const dim3 grid(Blocks(args.rows, kTileRows), Blocks(args.experts, kTileExperts));
    PrefillLogits<<<grid, kPrefillThreads, 0, stream>>>(args, whole, logits);
    LaunchedOrDie("PrefillLogits");
  }
}

}  // namespace hearth::kernels::cuda
