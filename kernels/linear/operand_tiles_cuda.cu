#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/exl3/exl3_decode_cuda.cuh"
#include "kernels/linear/job_list_cuda.h"
#include "kernels/linear/operand_jobs_cuda.h"
#include "kernels/linear/tile_layout.h"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlockChunks = 8;  // 8 x (16 inputs of a strip); in_padded is a multiple of 128
constexpr int kBlockTiles = kBlockChunks * kStripTiles;

// A block reads 8 chunks as one run, every byte once, since it may lie across the bus; then a warp decodes a tile at a
// time and writes it as one run of 512 bytes.
template <int K, bool kMul1>
__device__ void DecodeChunks(const TilesJob& job, int64_t first_chunk, uint32_t* words) {
  constexpr int kTileWords = 8 * K;
  constexpr int kLoads = kBlockTiles * kTileWords / 4;  // of 16 bytes
  const auto* from =
      reinterpret_cast<const uint4*>(static_cast<const uint32_t*>(job.data) + first_chunk * kStripTiles * kTileWords);
#pragma unroll
  for (int first = 0; first < kLoads; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    if (i < kLoads) reinterpret_cast<uint4*>(words)[i] = from[i];
  }
  __syncthreads();
  const int g = static_cast<int>(threadIdx.x % 32);
  const Exl3Lane<K> lane(g);
  const Exl3Hash hash = Exl3HashOf(job.codebook);
  // A block's chunks are of one strip, since a strip has a multiple of 128 inputs; every term of the strip gets them.
  const int64_t term_chunks = job.padded / 16, strip = first_chunk / term_chunks;
  uint4* to = job.tiles + (first_chunk + strip * (job.terms - 1) * term_chunks) * kStripTiles * 32;
#pragma unroll 2
  for (int tile = static_cast<int>(threadIdx.x / 32); tile < kBlockTiles; tile += kThreads / 32) {
    uint32_t weights[4];
    Exl3TileOperands<K, kMul1>(lane, hash, words + tile * kTileWords, weights);
    for (int term = 0; term < job.terms; ++term) {
      to[(term * term_chunks * kStripTiles + tile) * 32 + g] =
          make_uint4(weights[0], weights[1], weights[2], weights[3]);
    }
  }
}

template <int K>
__device__ void DecodeChunksOf(const TilesJob& job, int64_t first_chunk, uint32_t* words) {
  if (job.codebook == Codebook::kMul1) {
    DecodeChunks<K, true>(job, first_chunk, words);
  } else {
    DecodeChunks<K, false>(job, first_chunk, words);
  }
}

__global__ void __launch_bounds__(kThreads) Exl3TilesKernel(const __grid_constant__ JobList<TilesJob> list) {
  __shared__ alignas(16) uint32_t words[kBlockTiles * 8 * 8];
  const int i = list.JobOf(static_cast<int>(blockIdx.x));
  const TilesJob& job = list.jobs[i];
  const int64_t first_chunk = static_cast<int64_t>(static_cast<int>(blockIdx.x) - list.first_block[i]) * kBlockChunks;
  switch (job.bits) {
    case 1:
      return DecodeChunksOf<1>(job, first_chunk, words);
    case 2:
      return DecodeChunksOf<2>(job, first_chunk, words);
    case 3:
      return DecodeChunksOf<3>(job, first_chunk, words);
    case 4:
      return DecodeChunksOf<4>(job, first_chunk, words);
    case 5:
      return DecodeChunksOf<5>(job, first_chunk, words);
    case 6:
      return DecodeChunksOf<6>(job, first_chunk, words);
    case 7:
      return DecodeChunksOf<7>(job, first_chunk, words);
    case 8:
      return DecodeChunksOf<8>(job, first_chunk, words);
  }
}

__device__ float PlainWeight(const TilesJob& job, int strip, int k, int column) {
  if (k >= job.in || strip * static_cast<int>(kStripColumns) + column >= job.columns) return 0.0f;
  const int64_t at = strip * job.strip_stride + k * job.row_stride + column;
  if (job.kind == WeightKind::kF32) return static_cast<const float*>(job.data)[at];
  if (job.kind == WeightKind::kF16) return __half2float(static_cast<const __half*>(job.data)[at]);
  return __bfloat162float(static_cast<const __nv_bfloat16*>(job.data)[at]);
}

// 2^(14 - floor(log2(largest))): the scaled column stays below 2^15.
__device__ float ColumnScale(float largest) {
  if (!(largest > 0.0f)) return 1.0f;
  const int log2 = max(static_cast<int>(__float_as_uint(largest) >> 23) - 127, -106);
  return __uint_as_float(static_cast<uint32_t>(14 - log2 + 127) << 23);
}

// One block per strip: thread (c, part) searches every 8th input of column c.
constexpr int kParts = 8;
__global__ void __launch_bounds__(kStripColumns* kParts)
    ColumnScalesKernel(const __grid_constant__ JobList<TilesJob> list) {
  __shared__ float largest[kParts][kStripColumns];
  const int i = list.JobOf(static_cast<int>(blockIdx.x));
  const TilesJob& job = list.jobs[i];
  const int strip = static_cast<int>(blockIdx.x) - list.first_block[i];
  const int column = static_cast<int>(threadIdx.x % kStripColumns),
            part = static_cast<int>(threadIdx.x / kStripColumns);
  float mine = 0.0f;
#pragma unroll 4
  for (int k = part; k < job.in; k += kParts) mine = fmaxf(mine, fabsf(PlainWeight(job, strip, k, column)));
  largest[part][column] = mine;
  __syncthreads();
  if (part != 0) return;
#pragma unroll
  for (int p = 1; p < kParts; ++p) mine = fmaxf(mine, largest[p][column]);
  job.inverse_scale[strip * kStripColumns + column] = 1.0f / ColumnScale(mine);
}

// One block per chunk of one term: warp w makes tile w.
__global__ void __launch_bounds__(kThreads) PlainTilesKernel(const __grid_constant__ JobList<TilesJob> list) {
  const int i = list.JobOf(static_cast<int>(blockIdx.x));
  const TilesJob& job = list.jobs[i];
  const int chunk = static_cast<int>(blockIdx.x) - list.first_block[i];
  const int term_chunks = job.padded / 16;
  const int strip = chunk / (job.terms * term_chunks);
  const int within = chunk % (job.terms * term_chunks);
  const int term = within / term_chunks;
  const int tile = static_cast<int>(threadIdx.x / 32), g = static_cast<int>(threadIdx.x % 32);
  __half weights[kLaneWeights];
#pragma unroll
  for (int j = 0; j < kLaneWeights; ++j) {
    const int column = tile * 16 + TileColumn(g, j);
    float w = PlainWeight(job, strip, within % term_chunks * 16 + TileRow(g, j), column);
    if (job.terms == 3) {
      w = w * (1.0f / job.inverse_scale[strip * kStripColumns + column]);
      if (term == 1) w = w - __half2float(__float2half_rn(w));
    }
    weights[j] = __float2half_rn(w);
  }
  const auto pair = [&](int j) {
    return static_cast<uint32_t>(__half_as_ushort(weights[j])) | static_cast<uint32_t>(__half_as_ushort(weights[j + 1]))
                                                                     << 16;
  };
  job.tiles[static_cast<int64_t>(chunk) * kStripTiles * 32 + threadIdx.x] =
      make_uint4(pair(0), pair(2), pair(4), pair(6));
}

}  // namespace

void MakeTiles(cudaStream_t stream, std::span<const TilesJob> jobs) {
  JobList<TilesJob> exl3, scales, plain;
  for (const TilesJob& job : jobs) {
    if (job.kind == WeightKind::kExl3) {
      exl3.Add(job, int64_t{job.strips} * job.padded / 16 / kBlockChunks);
      continue;
    }
    if (job.terms == 3) scales.Add(job, job.strips);
    plain.Add(job, int64_t{job.strips} * job.terms * job.padded / 16);
  }
  if (exl3.blocks() > 0) {
    Exl3TilesKernel<<<exl3.blocks(), kThreads, 0, stream>>>(exl3);
    LaunchedOrDie("Exl3TilesKernel");
  }
  if (scales.blocks() > 0) {
    ColumnScalesKernel<<<scales.blocks(), kStripColumns * kParts, 0, stream>>>(scales);
    LaunchedOrDie("ColumnScalesKernel");
  }
  if (plain.blocks() > 0) {
    PlainTilesKernel<<<plain.blocks(), kThreads, 0, stream>>>(plain);
    LaunchedOrDie("PlainTilesKernel");
  }
}

}  // namespace hearth::kernels::cuda
