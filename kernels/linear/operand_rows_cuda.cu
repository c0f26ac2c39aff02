#include <cuda_fp16.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/linear/hadamard_cuda.cuh"
#include "kernels/linear/job_list_cuda.h"
#include "kernels/linear/operand_jobs_cuda.h"
#include "kernels/linear/swiglu_cuda.cuh"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 128;  // one row

// Exponents of the scaled row. A rotated value is at most sqrt(128) times the largest input, 2^12 * 11.32 < 65504.
// Plain rows: below 2^15.
constexpr int kRotatedExponent = 11;
constexpr int kPlainExponent = 14;

// 2^(exponent - floor(log2(largest))); 1 for a row of zeros.
__device__ float ScaleFor(float largest, int exponent) {
  if (!(largest > 0.0f)) return 1.0f;
  const int log2 = max(static_cast<int>(__float_as_uint(largest) >> 23) - 127, -126);
  return __uint_as_float(static_cast<uint32_t>(min(exponent - log2, 120) + 127) << 23);
}

// Inputs k .. k+3, zero behind `in`. The same thread reads and writes these four in both passes.
template <bool kSwiglu>
struct Source {
  const RowsJob& job;
  int64_t offset;  // of the row
  bool aligned;

  __device__ Source(const RowsJob& j, int row) : job(j) {
    offset = (j.x_row != nullptr ? j.x_row[row] : row) * j.x_stride;
    const float* base = kSwiglu ? j.gate : j.x;
    aligned = ((reinterpret_cast<uintptr_t>(base) | static_cast<uintptr_t>(j.x_stride * 4)) & 15) == 0;
    if (kSwiglu) aligned = aligned && (reinterpret_cast<uintptr_t>(j.up) & 15) == 0;
  }
  __device__ void Read(const float* from, int k, float* v) const {
    if (aligned && k + 4 <= job.in) {
      const float4 four = *reinterpret_cast<const float4*>(from + offset + k);
      v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = k + i < job.in ? from[offset + k + i] : 0.0f;
  }
  __device__ void First(int k, float* v) const {
    Read(kSwiglu ? job.gate : job.x, k, v);
    if constexpr (kSwiglu) {
      float up[4];
      Read(job.up, k, up);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        v[i] = DeviceSwiglu(v[i], up[i], job.limit);
        if (k + i < job.in) job.gate[offset + k + i] = v[i];
      }
    }
  }
  __device__ void Second(int k, float* v) const { Read(kSwiglu ? job.gate : job.x, k, v); }
};

__device__ void TimesSuh(const RowsJob& job, int k, float* v) {
  const auto* suh = reinterpret_cast<const __half*>(job.suh);
  if ((reinterpret_cast<uintptr_t>(suh) & 7) == 0 && k + 4 <= job.in) {
    const uint2 four = *reinterpret_cast<const uint2*>(suh + k);
    const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&four.x));
    const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&four.y));
    v[0] = v[0] * low.x, v[1] = v[1] * low.y, v[2] = v[2] * high.x, v[3] = v[3] * high.y;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (k + i < job.in) v[i] = v[i] * __half2float(suh[k + i]);
  }
}

__device__ float LargestOfBlock(float mine) {
  __shared__ float of_warp[kThreads / 32];
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) mine = fmaxf(mine, __shfl_xor_sync(kAllLanes, mine, lane));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) mine = fmaxf(mine, of_warp[w]);
  return mine;
}

__device__ void StoreHalves(__half* to, const float* v) {
  __half2 pairs[2] = {__floats2half2_rn(v[0], v[1]), __floats2half2_rn(v[2], v[3])};
  *reinterpret_cast<uint2*>(to) = *reinterpret_cast<const uint2*>(pairs);
}

// What StoreHalves rounds away.
__device__ void StoreRests(__half* to, const float* v) {
  float rest[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) rest[i] = v[i] - __half2float(__float2half_rn(v[i]));
  StoreHalves(to, rest);
}

template <bool kSwiglu>
__device__ void RotateRow(const RowsJob& job, int row) {
  const Source<kSwiglu> source(job, row);
  float largest = 0.0f;
  for (int k = 4 * threadIdx.x; k < job.padded; k += 4 * kThreads) {
    float v[4];
    source.First(k, v);
    TimesSuh(job, k, v);
#pragma unroll
    for (int i = 0; i < 4; ++i) largest = fmaxf(largest, fabsf(v[i]));
  }
  const float scale = ScaleFor(LargestOfBlock(largest), kRotatedExponent);
  if (threadIdx.x == 0) job.inverse_scale[row] = 1.0f / scale;
  __half* out = job.out + static_cast<int64_t>(row) * job.terms * job.padded;
  // padded is a multiple of 128, so all lanes of a warp are inside together.
  for (int k = 4 * threadIdx.x; k < job.padded; k += 4 * kThreads) {
    float v[4];
    source.Second(k, v);
    TimesSuh(job, k, v);
    WarpHadamard128(v);
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = v[i] * scale;
    StoreHalves(out + k, v);
    if (job.terms == 2) StoreRests(out + job.padded + k, v);
  }
}

template <bool kSwiglu>
__device__ void SplitRow(const RowsJob& job, int row) {
  const Source<kSwiglu> source(job, row);
  float largest = 0.0f;
  for (int k = 4 * threadIdx.x; k < job.padded; k += 4 * kThreads) {
    float v[4];
    source.First(k, v);
#pragma unroll
    for (int i = 0; i < 4; ++i) largest = fmaxf(largest, fabsf(v[i]));
  }
  const float scale = ScaleFor(LargestOfBlock(largest), kPlainExponent);
  if (threadIdx.x == 0) job.inverse_scale[row] = 1.0f / scale;
  __half* out = job.out + static_cast<int64_t>(row) * job.terms * job.padded;
  for (int k = 4 * threadIdx.x; k < job.padded; k += 4 * kThreads) {
    float v[4];
    source.Second(k, v);
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = v[i] * scale;
    StoreHalves(out + k, v);
    if (job.terms == 3) StoreHalves(out + job.padded + k, v);
    StoreRests(out + static_cast<int64_t>(job.terms - 1) * job.padded + k, v);
  }
}

__global__ void __launch_bounds__(kThreads) RowsKernel(const __grid_constant__ JobList<RowsJob> list) {
  const int i = list.JobOf(static_cast<int>(blockIdx.x));
  const RowsJob& job = list.jobs[i];
  const int row = static_cast<int>(blockIdx.x) - list.first_block[i];
  const bool swiglu = job.gate != nullptr;
  if (job.suh != nullptr) {
    swiglu ? RotateRow<true>(job, row) : RotateRow<false>(job, row);
  } else {
    swiglu ? SplitRow<true>(job, row) : SplitRow<false>(job, row);
  }
}

}  // namespace

void MakeRows(cudaStream_t stream, std::span<const RowsJob> jobs) {
  JobList<RowsJob> list;
  for (const RowsJob& job : jobs) list.Add(job, job.rows);
  if (list.blocks() == 0) return;
  RowsKernel<<<list.blocks(), kThreads, 0, stream>>>(list);
  LaunchedOrDie("RowsKernel");
}

}  // namespace hearth::kernels::cuda
