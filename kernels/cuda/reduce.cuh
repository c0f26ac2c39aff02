#pragma once

namespace hearth::kernels::cuda {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// Sums over the lanes of a warp as one tree: pairs 16 apart, then 8, 4, 2, 1. Every lane gets the sum.
__device__ inline float WarpSum(float v) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) v += __shfl_xor_sync(kAllLanes, v, apart);
  return v;
}

// The maximum over the lanes of a warp, in every lane.
__device__ inline float WarpMax(float v) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) v = fmaxf(v, __shfl_xor_sync(kAllLanes, v, apart));
  return v;
}

// One level of WarpSums: a lane gives away one half of its kLeft sums and keeps the other.
template <int kLeft, int kApart, int N>
__device__ inline void FoldSums(float (&v)[N]) {
  if constexpr (kLeft > 1) {
    const bool upper = (threadIdx.x & kApart) != 0;
#pragma unroll
    for (int i = 0; i < kLeft / 2; ++i) {
      const float low = v[i], high = v[i + kLeft / 2];
      v[i] = (upper ? high : low) + __shfl_xor_sync(kAllLanes, upper ? low : high, kApart);
    }
    FoldSums<kLeft / 2, kApart / 2>(v);
  } else if constexpr (kApart > 0) {
    v[0] += __shfl_xor_sync(kAllLanes, v[0], kApart);
    FoldSums<1, kApart / 2>(v);
  }
}

// N <= 32 sums at once, N a power of two, each the same tree as WarpSum. Lane l gets sum number l / (32 / N). `v` is
// used up.
template <int N>
__device__ inline float WarpSums(float (&v)[N]) {
  FoldSums<N, 16>(v);
  return v[0];
}

// Sum over a block of kThreads in x: warps first, then their sums in ascending order. `parts` is shared memory of
// kThreads / 32 floats that nothing else uses until the next barrier after the call.
template <int kThreads>
__device__ inline float BlockSum(float v, float* parts) {
  v = WarpSum(v);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = parts[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) sum += parts[i];
  return sum;
}

__device__ inline float DeviceSigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

}  // namespace hearth::kernels::cuda
