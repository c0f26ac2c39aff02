#include <algorithm>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda_ops.h"
#include "kernels/linear/operand_jobs_cuda.h"
#include "kernels/linear/operand_memory_cuda.h"
#include "kernels/linear/tile_layout.h"

namespace hearth::kernels::cuda {
namespace {

// Few rows: fp32. A block makes 128 outputs of one head for up to 8 rows; each of its 4 warps sums a quarter of the
// inputs, and the quarters are added in ascending order. Lane l has columns 4l .. 4l+3.
constexpr int kParts = 4;
constexpr int kDecodeRows = 8;

template <bool kAligned>
__device__ void ReadWeights(const float* w, int column, int columns, float (&v)[4]) {
  if constexpr (kAligned) {  // and a whole number of fours
    const float4 four = column < columns ? __ldg(reinterpret_cast<const float4*>(w + column)) : float4{};
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = column + i < columns ? w[column + i] : 0.0f;
  }
}

template <bool kAligned>
__global__ void __launch_bounds__(32 * kParts) HeadRowsKernel(const HeadLinearArgs args) {
  AwaitKernelsBefore();
  __shared__ float parts[kParts][kDecodeRows][128];
  const int lane = static_cast<int>(threadIdx.x % 32), part = static_cast<int>(threadIdx.x / 32);
  const int64_t head = blockIdx.y, first_row = int64_t{blockIdx.z} * kDecodeRows;
  const int rows = static_cast<int>(min(int64_t{kDecodeRows}, args.rows - first_row));
  const int columns = static_cast<int>(args.out), first = static_cast<int>(blockIdx.x) * 128, column = first + 4 * lane;
  const int per_part = static_cast<int>((args.in + kParts - 1) / kParts);
  const int begin = part * per_part, end = min(begin + per_part, static_cast<int>(args.in));
  const float* w = args.w + head * args.in * args.out;
  const float* x = args.x + (first_row * args.heads + head) * args.in;
  const int64_t x_stride = args.heads * args.in;

  float sums[kDecodeRows][4] = {};
#pragma unroll 4
  for (int k = begin; k < end; ++k) {
    float v[4];
    ReadWeights<kAligned>(w + int64_t{k} * columns, column, columns, v);
#pragma unroll
    for (int r = 0; r < kDecodeRows; ++r) {
      if (r >= rows) break;
      const float xr = __ldg(x + r * x_stride + k);
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[r][i] = fmaf(xr, v[i], sums[r][i]);
    }
  }
#pragma unroll
  for (int r = 0; r < kDecodeRows; ++r) {
#pragma unroll
    for (int i = 0; i < 4; ++i) parts[part][r][4 * lane + i] = sums[r][i];
  }
  __syncthreads();
  const int c = static_cast<int>(threadIdx.x);
  if (first + c >= columns) return;
  for (int r = 0; r < rows; ++r) {
    float sum = parts[0][r][c];
#pragma unroll
    for (int p = 1; p < kParts; ++p) sum = sum + parts[p][r][c];
    args.y[((first_row + r) * args.heads + head) * args.out + first + c] = sum;
  }
}

void HeadLinearDecode(cudaStream_t stream, const HeadLinearArgs& args) {
  const dim3 grid(static_cast<unsigned>((args.out + 127) / 128), static_cast<unsigned>(args.heads),
                  static_cast<unsigned>((args.rows + kDecodeRows - 1) / kDecodeRows));
  const bool fours = args.out % 4 == 0 && reinterpret_cast<uintptr_t>(args.w) % 16 == 0;
  LaunchEarly("HeadRowsKernel", fours ? HeadRowsKernel<true> : HeadRowsKernel<false>, grid, 32 * kParts, 0, stream,
              args);
}

// Many rows: heads are plain fp32 matrices of the prefill GEMM, some at a time.
void HeadLinearPrefill(cudaStream_t stream, const HeadLinearArgs& args) {
  const int terms = OperandTerms(WeightKind::kF32);
  const Dim padded = (args.in + kInputPadding - 1) / kInputPadding * kInputPadding;
  const Dim k = terms * padded;
  const Dim strips = (args.out + kStripColumns - 1) / kStripColumns;
  const Dim row_bytes = 2 * k, tile_bytes = strips * kStripColumns * 2 * k;  // of a head
  const Dim pass_rows =
      std::min(args.rows, std::max<Dim>(128, static_cast<Dim>(kOperandRowsBytes) / row_bytes / 128 * 128));
  const Dim pass_heads = std::clamp<Dim>(std::min(static_cast<Dim>(kOperandRowsBytes) / (pass_rows * row_bytes),
                                                  static_cast<Dim>(kOperandTilesBytes) / tile_bytes),
                                         1, std::min<Dim>(args.heads, kMaxJobs));
  const OperandMemory memory(stream, {.rows = pass_heads * pass_rows * k,
                                      .row_scales = pass_heads * pass_rows,
                                      .tiles = pass_heads * tile_bytes / static_cast<Dim>(sizeof(uint4)),
                                      .column_scales = pass_heads * strips * kStripColumns});

  for (Dim row = 0; row < args.rows; row += pass_rows) {
    const Dim count = std::min(pass_rows, args.rows - row);
    for (Dim first = 0; first < args.heads; first += pass_heads) {
      RowsJob rows_jobs[kMaxJobs];
      TilesJob tiles_jobs[kMaxJobs];
      GemmJob gemm_jobs[kMaxJobs];
      const Dim heads = std::min(pass_heads, args.heads - first);
      for (Dim i = 0; i < heads; ++i) {
        const Dim head = first + i;
        RowsJob& r = rows_jobs[i];
        r.x = args.x + (row * args.heads + head) * args.in;
        r.x_stride = args.heads * args.in;
        r.rows = static_cast<int>(count);
        r.in = static_cast<int>(args.in);
        r.padded = static_cast<int>(padded);
        r.terms = terms;
        r.out = memory.rows + i * count * k;
        r.inverse_scale = memory.row_scales + i * count;
        TilesJob& t = tiles_jobs[i];
        t.kind = WeightKind::kF32;
        t.in = r.in;
        t.padded = r.padded;
        t.terms = terms;
        t.strips = static_cast<int>(strips);
        t.columns = static_cast<int>(args.out);
        t.data = args.w + head * args.in * args.out;
        t.strip_stride = kStripColumns;
        t.row_stride = args.out;
        t.tiles = memory.tiles + i * tile_bytes / static_cast<Dim>(sizeof(uint4));
        t.inverse_scale = memory.column_scales + i * strips * kStripColumns;
        GemmJob& g = gemm_jobs[i];
        g.x = r.out;
        g.tiles = t.tiles;
        g.rows = r.rows;
        g.k = static_cast<int>(k);
        g.strips = t.strips;
        g.columns = t.columns;
        g.row_scale = r.inverse_scale;
        g.column_scale = t.inverse_scale;
        g.y = args.y + (row * args.heads + head) * args.out;
        g.y_stride = args.heads * args.out;
      }
      const auto count_of_jobs = static_cast<size_t>(heads);
      MakeRows(stream, {rows_jobs, count_of_jobs});
      MakeTiles(stream, {tiles_jobs, count_of_jobs});
      MultiplyTiles(stream, {gemm_jobs, count_of_jobs});
    }
  }
}

}  // namespace

void HeadLinear(void* stream, const HeadLinearArgs& args) {
  if (args.rows <= 0 || args.heads <= 0 || args.out <= 0) return;
  if (args.phase == Phase::kDecode) {
    HeadLinearDecode(static_cast<cudaStream_t>(stream), args);
  } else {
    HeadLinearPrefill(static_cast<cudaStream_t>(stream), args);
  }
}

}  // namespace hearth::kernels::cuda
