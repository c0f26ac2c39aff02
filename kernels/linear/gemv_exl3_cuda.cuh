#pragma once

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/mma_device.cuh"
#include "kernels/exl3/exl3_decode_cuda.cuh"
#include "kernels/linear/gemv_finish_cuda.cuh"

namespace hearth::kernels::cuda {

// One stage is 128 inputs of a strip, one Hadamard block: 8 x 8 tiles, 2048 K bytes in one run. While warp n multiplies
// tile column n of a stage, the copies of the next stages are under way and one warp per row rotates the next stage's
// activations.
//
// Activations enter the tensor cores with the precision of fp32: a block of 128 is scaled by a power of two to just below
// 2^15 and split into two f16 numbers, x = high + low + error, |error| < 2^-22 of the block's largest. Operand row g is the
// high part of row g, operand row g + 8 its low part; a thread holds the sums of both, for 8 rows of the matrix product.
constexpr int kStageInputs = 128;
constexpr int kStageTiles = kStageInputs / 16;  // down the inputs; also the tiles across a strip
static_assert(kStageTiles == kGemvWarps && kStripColumns == kStageInputs);

template <int K>
struct Exl3Stage {
  static constexpr int kBytes = 2048 * K;
  static constexpr int kStages = K <= 3 ? 4 : 3;  // in flight and at work
};

// Rotated activations of two stages in shared memory: [2][8 tiles][rows][4] of 16 bytes, which are what one lane needs
// for one product: high 2q 2q+1, low 2q 2q+1, high 2q+8 2q+9, low 2q+8 2q+9. Then the inverse scales [2][rows].
__host__ __device__ inline int RotatedBytes(int rows) { return 2 * rows * (kStageTiles * 4 * 16 + 4); }

// Rotates, scales and splits inputs 4 lane .. 4 lane + 3 of one block, and stores them.
__device__ inline void RotateBlock(float4 x, const uint16_t* suh, uint4* to, int rows, int row, float* inverse_scale) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float4 s = HalvesToFloats(suh + lane * 4);
  float v[4] = {x.x * s.x, x.y * s.y, x.z * s.z, x.w * s.w};
  WarpHadamard128(v);
  unsigned largest = 0;  // magnitudes compare like their bits
#pragma unroll
  for (int i = 0; i < 4; ++i) largest = max(largest, __float_as_uint(v[i]) & 0x7FFFFFFFu);
  largest = __reduce_max_sync(kAllLanes, largest);
  const unsigned exponent = min(max(largest >> 23, 20u), 254u);  // both scales stay normal numbers
  const float scale = __uint_as_float((268u - exponent) << 23);  // 2^(14 - (exponent - 127))
  if (lane == 0) *inverse_scale = __uint_as_float((exponent - 14u) << 23);
  uint2* pairs = reinterpret_cast<uint2*>(to + ((lane / 4) * rows + row) * 4) + 4 * (lane & 1) + ((lane >> 1) & 1);
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const float a = v[2 * p] * scale, b = v[2 * p + 1] * scale;
    const __half2 high = __floats2half2_rn(a, b);
    const float2 rounded = __half22float2(high);
    const __half2 low = __floats2half2_rn(a - rounded.x, b - rounded.y);
    pairs[2 * p] = make_uint2(*reinterpret_cast<const uint32_t*>(&high), *reinterpret_cast<const uint32_t*>(&low));
  }
}

template <int K, bool kMul1, int kGroups, typename Table>
__global__ void __launch_bounds__(kGemvThreads, kGroups == 1 ? 4 : 2)
    Exl3GemvKernel(const __grid_constant__ Table t, int first_matrix, int matrices) {
  using Stage = Exl3Stage<K>;
  static_assert(Table::kRows == 8 * kGroups);
  extern __shared__ __align__(16) unsigned char shared[];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const GemvPlace at = GemvPlaceOf(first_matrix, matrices);
  const GemvShape& shape = t.shape[at.matrix];
  const GemvJob<Table::kRows>& job = t.job[at.job];
  const GemvMatrix& w = job.matrix[at.matrix];
  const int rows = job.rows;

  const int first = at.slice * (shape.slice_inputs / kStageInputs);
  const int count = min(shape.slice_inputs, shape.in_padded - at.slice * shape.slice_inputs) / kStageInputs;
  const unsigned char* from = static_cast<const unsigned char*>(w.data) +
                              (int64_t{at.strip} * (shape.in_padded / kStageInputs) + first) * Stage::kBytes;
  uint4* rotated = reinterpret_cast<uint4*>(shared + Stage::kStages * Stage::kBytes);
  float* scales = reinterpret_cast<float*>(rotated + 2 * kStageTiles * t.rows_most * 4);

  const auto fetch = [&](int stage) {
    if (stage < count) {
      unsigned char* to = shared + (stage % Stage::kStages) * Stage::kBytes;
      const unsigned char* source = from + int64_t{stage} * Stage::kBytes;
#pragma unroll
      for (int i = thread * 16; i < Stage::kBytes; i += kGemvThreads * 16) AsyncCopy16(to + i, source + i);
    }
    AsyncCommit();
  };
  // Rows of a stage go round the warps, so that a single row loads them evenly.
  const auto row_of = [&](int stage, int i) { return ((warp - stage) & (kGemvWarps - 1)) + kGemvWarps * i; };
  float4 x[kGroups];
  const auto load_rows = [&](int stage) {
    const int k = (first + stage) * kStageInputs + lane * 4;
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int row = row_of(stage, i);
      if (row < rows) x[i] = Load4(t.x + job.x_row[row] * t.x_stride + k, shape.in_features - k, t.x_aligned);
    }
  };
  const auto rotate_rows = [&](int stage) {
    const uint16_t* suh = w.suh + (first + stage) * kStageInputs;
    uint4* to = rotated + (stage & 1) * kStageTiles * t.rows_most * 4;
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int row = row_of(stage, i);
      if (row < rows) RotateBlock(x[i], suh, to, t.rows_most, row, scales + (stage & 1) * t.rows_most + row);
    }
  };

#pragma unroll
  for (int stage = 0; stage + 1 < Stage::kStages; ++stage) fetch(stage);
  load_rows(0);
  rotate_rows(0);

  const Exl3Lane<K> words(lane);
  const Exl3Hash hash = Exl3HashOf(shape.codebook);
  const int g = lane / 4, q = lane % 4;
  float total[kGroups][2][2] = {};  // rows g of each group; columns 2q, 2q+1 and those 8 further on
  for (int stage = 0; stage < count; ++stage) {
    AsyncWait<Stage::kStages - 2>();
    __syncthreads();  // the stage and its rows are there, and nobody reads the buffers that are filled next
    fetch(stage + Stage::kStages - 1);
    if (stage + 1 < count) load_rows(stage + 1);

    const uint32_t* tiles = reinterpret_cast<const uint32_t*>(shared + (stage % Stage::kStages) * Stage::kBytes);
    const uint4* operands = rotated + (stage & 1) * kStageTiles * t.rows_most * 4;
    float sum[kGroups][2][4] = {};
#pragma unroll 2
    for (int k = 0; k < kStageTiles; ++k) {
      uint32_t b[4];
      Exl3TileOperands<K, kMul1>(words, hash, tiles + (k * kStageTiles + warp) * Exl3Lane<K>::kTileWords, b);
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        if (i > 0 && i * 8 >= rows) break;
        uint4 both = make_uint4(0, 0, 0, 0);
        if (i * 8 + g < rows) both = operands[(k * t.rows_most + i * 8 + g) * 4 + q];
        const uint32_t a[4] = {both.x, both.y, both.z, both.w};
        MultiplyAdd(sum[i][0], a, b[0], b[1]);
        MultiplyAdd(sum[i][1], a, b[2], b[3]);
      }
    }
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      if (i * 8 + g >= rows) continue;
      const float scale = scales[(stage & 1) * t.rows_most + i * 8 + g];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        total[i][half][0] = fmaf(scale, sum[i][half][0] + sum[i][half][2], total[i][half][0]);
        total[i][half][1] = fmaf(scale, sum[i][half][1] + sum[i][half][3], total[i][half][1]);
      }
    }
    if (stage + 1 < count) rotate_rows(stage + 1);
  }

  if (t.slices() == 1) __syncthreads();  // the staging area lies over the stages
  float* staging = reinterpret_cast<float*>(shared);
  float* partial = GemvPartial(t, at, staging) + warp * 16 + 2 * q;
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const int row = i * 8 + g;
    if (row >= rows) continue;
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<float2*>(partial + row * kStripColumns + half * 8) =
          make_float2(total[i][half][0], total[i][half][1]);
    }
  }
  if (GemvLastToArrive(t, at)) GemvFinish(t, at, staging);
}

template <int K, bool kMul1, int kGroups, typename Table>
void LaunchExl3Kernel(void* stream, const Table& t, int first, int count) {
  const auto kernel = Exl3GemvKernel<K, kMul1, kGroups, Table>;
  const auto bytes = [](int rows) {
    const int loop = Exl3Stage<K>::kStages * Exl3Stage<K>::kBytes + RotatedBytes(rows);
    const int staging = rows * static_cast<int>(kStripColumns) * 4;
    return loop > staging ? loop : staging;
  };
  static const bool allowed = [&] {
    CudaOrDie(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes(Table::kRows)),
              "shared memory of the EXL3 product");
    return true;
  }();
  static_cast<void>(allowed);
  const GemvShape& s = t.shape[first];
  const dim3 grid(static_cast<unsigned>(s.slices), static_cast<unsigned>(s.strips),
                  static_cast<unsigned>(t.job_count * count));
  kernel<<<grid, kGemvThreads, static_cast<size_t>(bytes(t.rows_most)), static_cast<cudaStream_t>(stream)>>>(t, first,
                                                                                                       count);
  LaunchedOrDie("EXL3 product of few rows");
}

template <int kGroups, int K, typename Table>
void LaunchExl3Bits(void* stream, const Table& t, int first, int count) {
  if constexpr (K <= 8) {
    if (t.shape[first].bits != K) return LaunchExl3Bits<kGroups, K + 1>(stream, t, first, count);
    if (t.shape[first].codebook == Codebook::kMul1) {
      LaunchExl3Kernel<K, true, kGroups>(stream, t, first, count);
    } else {
      LaunchExl3Kernel<K, false, kGroups>(stream, t, first, count);
    }
  } else {
    DieOfCuda(cudaErrorInvalidValue, "bits of an EXL3 matrix");
  }
}

}  // namespace hearth::kernels::cuda
