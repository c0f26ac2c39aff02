#pragma once

#include <cuda_fp16.h>

#include "kernels/cuda/vec4.cuh"
#include "kernels/linear/gemv_cuda.h"
#include "kernels/linear/hadamard_cuda.cuh"
#include "kernels/linear/swiglu_cuda.cuh"

namespace hearth::kernels::cuda {

// Which part of the work a block of a GEMV launch has: grid (slices, strips, jobs * matrices of the launch).
struct GemvPlace {
  int job, matrix, strip, slice;
};
__device__ inline GemvPlace GemvPlaceOf(int first_matrix, int matrices) {
  const int z = static_cast<int>(blockIdx.z);
  return {z / matrices, first_matrix + z % matrices, static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x)};
}

__device__ inline float4 HalvesToFloats(const uint16_t* p) {  // four, 8-byte aligned
  const uint2 bits = *reinterpret_cast<const uint2*>(p);
  const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&bits.x));
  const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&bits.y));
  return make_float4(low.x, low.y, high.x, high.y);
}

// Where the partial sums of row r of a slice lie, 128 numbers each.
template <typename Table>
__device__ inline float* GemvPartial(const Table& t, GemvPlace at) {
  const int64_t strip = int64_t{at.job} * t.shape[0].strips + at.strip;
  const int64_t slice = at.slice + (at.matrix == 1 ? t.shape[0].slices : 0);
  return t.partial + (strip * t.slices() + slice) * t.rows_most * kStripColumns;
}
// The same, or `staging` when there is nothing to add.
template <typename Table>
__device__ inline float* GemvPartial(const Table& t, GemvPlace at, float* staging) {
  return t.slices() == 1 ? staging : GemvPartial(t, at);
}

// Whether the calling warp, which wrote its sums of a row, is the last one of `matrices` of the table's matrices to do
// so.
template <typename Table>
__device__ inline bool GemvRowComplete(const Table& t, GemvPlace at, int matrices, int row) {
  __threadfence();
  __syncwarp();
  const int expected = matrices == 2 ? t.shape[0].slices + t.shape[1].slices : t.shape[at.matrix].slices;
  if (expected == 1) return true;
  unsigned last = 0;
  if (threadIdx.x % 32 == 0) {
    uint32_t* arrived = t.arrived + (int64_t{at.job} * t.shape[0].strips + at.strip) * t.rows_most + row;
    last = atomicAdd(arrived, 1u) == static_cast<uint32_t>(expected - 1);
    if (last != 0) *arrived = 0;
  }
  last = __shfl_sync(kAllLanes, last, 0);
  if (last != 0) __threadfence();
  return last != 0;
}

// Whether this block, one per slice, has all partial sums of its strip before it. Called by all threads after they
// wrote theirs.
template <typename Table>
__device__ inline bool GemvLastToArrive(const Table& t, GemvPlace at, int matrices) {
  if (t.slices() == 1) {
    __syncthreads();
    return true;
  }
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const int expected = matrices == 2 ? t.shape[0].slices + t.shape[1].slices : t.shape[at.matrix].slices;
    uint32_t* arrived = t.arrived + int64_t{at.job} * t.shape[0].strips + at.strip;
    last = atomicAdd(arrived, 1u) == static_cast<uint32_t>(expected - 1);
    if (last) *arrived = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

// Four outputs of row r and matrix m: slices ascending, Hadamard, scale, bias. `staging`, if not null, has the sums of
// a table with one slice.
template <typename Table>
__device__ inline void GemvRowOutputs(const Table& t, GemvPlace at, const float* staging, int m, int r, float (&v)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const GemvMatrix& w = t.job[at.job].matrix[m];
  float4 sum;
  if (staging != nullptr && t.slices() == 1) {
    sum = *reinterpret_cast<const float4*>(staging + r * kStripColumns + lane * 4);
  } else {
    const float* from = GemvPartial(t, {at.job, m, at.strip, 0}) + r * kStripColumns + lane * 4;
    const int64_t stride = int64_t{t.rows_most} * kStripColumns;
    sum = __ldcg(reinterpret_cast<const float4*>(from));
#pragma unroll 8
    for (int i = 1; i < t.shape[m].slices; ++i)
      sum = Add4(sum, __ldcg(reinterpret_cast<const float4*>(from + i * stride)));
  }
  v[0] = sum.x;
  v[1] = sum.y;
  v[2] = sum.z;
  v[3] = sum.w;
  const int column = at.strip * static_cast<int>(kStripColumns) + lane * 4;
  if (w.svh != nullptr) {
    WarpHadamard128(v);
    const float4 scale = HalvesToFloats(w.svh + column);
    v[0] *= scale.x;
    v[1] *= scale.y;
    v[2] *= scale.z;
    v[3] *= scale.w;
  }
  if (w.bias != nullptr) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + i < t.shape[m].out_features) v[i] += w.bias[column + i];
    }
  }
}

// Finishes row r of the strip and writes it to y. Called by a whole warp.
template <typename Table>
__device__ inline void GemvFinishRow(const Table& t, GemvPlace at, const float* staging, int r) {
  const int column = at.strip * static_cast<int>(kStripColumns) + static_cast<int>(threadIdx.x) % 32 * 4;
  float v[4];
  GemvRowOutputs(t, at, staging, 0, r, v);
  if (t.matrices == 2) {
    float up[4];
    GemvRowOutputs(t, at, staging, 1, r, up);
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = DeviceSwiglu(v[i], up[i], t.limit);
  }
  float* y = t.y + t.job[at.job].y_row[r] * t.y_stride + column;
  Store4(y, t.shape[0].out_features - column, t.y_aligned, make_float4(v[0], v[1], v[2], v[3]));
}

// Finishes the strip, a warp per row.
template <typename Table>
__device__ inline void GemvFinish(const Table& t, GemvPlace at, const float* staging) {
  for (int r = static_cast<int>(threadIdx.x) / 32; r < t.job[at.job].rows; r += kGemvWarps) {
    GemvFinishRow(t, at, staging, r);
  }
}

}  // namespace hearth::kernels::cuda
