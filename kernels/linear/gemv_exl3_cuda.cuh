#pragma once

#include <algorithm>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/mma_device.cuh"
#include "kernels/exl3/exl3_decode_cuda.cuh"
#include "kernels/linear/gemv_exl3_rows_cuda.cuh"
#include "kernels/linear/gemv_finish_cuda.cuh"
#include "kernels/linear/gemv_slots_cuda.h"

namespace hearth::kernels::cuda {

// A unit of work is one slice of one strip: up to kMostStages stages of 128 inputs, one Hadamard block each, 8 tiles
// down and 8 across. With n stages the slice has 8 n rows of tiles and warp w multiplies rows [n w, n w + n), which lie
// in one stage. Units of one slice of one matrix follow each other, and a block takes a run of them: it rotates the
// activations once for all strips, and each warp streams its weights through a ring of its own across the strips,
// without barriers. The warps meet once per unit to add their sums in ascending order; one warp per row then writes the
// slice's sum, and the last one to arrive at a row of a strip finishes it while the others go on.
//
// The tensor cores multiply the transposed tile, 16 columns by 16 inputs, with 8 columns of activations: the high and
// the low parts of 4 rows. More rows are more such groups; a block then takes fewer columns at a time, in passes, so
// that the sums stay in registers. The order of every sum is the same for any number of groups.
template <int K, int kGroups>
struct Exl3Plan {
  static constexpr int kColumns = kStageTiles / kGroups;  // tile columns of a pass
  static constexpr int kPassColumns = kColumns * 16;
  static constexpr int kRowBytes = kStageTiles * 32 * K;        // a row of tiles
  static constexpr int kPieceBytes = kColumns * 32 * K;         // what one pass needs of it
  static constexpr int kSlots = kGroups == 1 && K > 5 ? 3 : 4;  // pieces of a warp in flight and at work
  static constexpr int kRingBytes = kSlots * kPieceBytes;
  static constexpr int kDumpStride = kPassColumns + 8;  // floats; keeps the banks apart

  // Shared memory: rings, operands, inverse scales, sums of the warps.
  __host__ __device__ static int OperandsAt() { return kGemvWarps * kRingBytes; }
  __host__ __device__ static int ScalesAt(int stages, int rows) { return OperandsAt() + stages * rows * kOperandBytes; }
  __host__ __device__ static int SumsAt(int stages, int rows) {
    return ScalesAt(stages, rows) + (stages * rows * 4 + 15) / 16 * 16;
  }
  __host__ __device__ static int Bytes(int stages, int rows) {
    return SumsAt(stages, rows) + kGemvWarps * rows * kDumpStride * 4;
  }
};

// The part of a table's matrices that a launch multiplies.
struct Exl3Launch {
  int first_matrix, matrices;
  bool finish;  // the last arrival adds the slices: no other launch of the table follows
  int units;    // strips x slices x matrices x jobs, a strip's index running fastest
};

template <int K, bool kMul1, int kGroups, typename Table>
__global__ void __launch_bounds__(kGemvThreads, 3)
    Exl3GemvKernel(const __grid_constant__ Table t, const __grid_constant__ Exl3Launch launch) {
  using Plan = Exl3Plan<K, kGroups>;
  extern __shared__ __align__(16) unsigned char shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const GemvShape& shape = t.shape[launch.first_matrix];
  const int stages = shape.slice_inputs / kStageInputs;  // and rows of tiles of each warp
  const int64_t strip_bytes = int64_t{shape.in_padded / 16} * Plan::kRowBytes;
  unsigned char* const ring = shared + warp * Plan::kRingBytes;
  uint32_t* const operands = reinterpret_cast<uint32_t*>(shared + Plan::OperandsAt());
  float* const scales = reinterpret_cast<float*>(shared + Plan::ScalesAt(stages, t.rows_most));
  float* const sums = reinterpret_cast<float*>(shared + Plan::SumsAt(stages, t.rows_most));
  const Exl3Lane<K> words(lane);
  const Exl3Hash hash = Exl3HashOf(shape.codebook);
  const int g = lane / 4, q = lane % 4;

  const int end = static_cast<int>(int64_t{launch.units} * (blockIdx.x + 1) / gridDim.x);
  int unit = static_cast<int>(int64_t{launch.units} * blockIdx.x / gridDim.x);
  while (unit < end) {
    // A run of strips of one slice of one matrix.
    const int run = unit / shape.strips;
    GemvPlace at;
    at.strip = unit - run * shape.strips;
    at.slice = run % shape.slices;
    at.job = run / shape.slices / launch.matrices;
    at.matrix = launch.first_matrix + run / shape.slices % launch.matrices;
    const int strips = min(end - unit, shape.strips - at.strip);
    const GemvJob<Table::kRows>& job = t.job[at.job];
    const GemvMatrix& w = job.matrix[at.matrix];
    const int rows = job.rows;
    const int first = at.slice * shape.slice_inputs;
    const int present = min(shape.slice_inputs, shape.in_padded - first) / kStageInputs;
    const int workers = present * kStageTiles / stages;  // warps that have something to multiply

    const unsigned char* from = static_cast<const unsigned char*>(w.data) + at.strip * strip_bytes +
                                (first / 16 + warp * stages) * int64_t{Plan::kRowBytes};
    int to_fetch = warp < workers ? strips * kGroups * stages : 0;
    int fetch_row = 0, fetch_pass = 0, fetch_slot = 0;
    const auto fetch = [&] {
      if (to_fetch > 0) {
        --to_fetch;
        const unsigned char* source = from + fetch_row * Plan::kRowBytes + fetch_pass * Plan::kPieceBytes;
        unsigned char* to = ring + fetch_slot * Plan::kPieceBytes;
#pragma unroll
        for (int i = 0; i < Plan::kPieceBytes; i += 32 * 16) {
          if (i + lane * 16 < Plan::kPieceBytes) AsyncCopy16(to + i + lane * 16, source + i + lane * 16);
        }
        if (++fetch_row == stages) {
          fetch_row = 0;
          if (kGroups == 1 || ++fetch_pass == kGroups) {
            fetch_pass = 0;
            from += strip_bytes;
          }
        }
        fetch_slot = fetch_slot + 1 == Plan::kSlots ? 0 : fetch_slot + 1;
      }
      AsyncCommit();
    };
#pragma unroll
    for (int i = 0; i + 1 < Plan::kSlots; ++i) fetch();
    AwaitKernelsBefore();  // weights are nobody's output

    __syncthreads();  // nobody reads the operands of the run before
    for (int i = warp; i < present * rows; i += kGemvWarps) {
      const int stage = i / rows, row = i - stage * rows;
      const int k = first + stage * kStageInputs;
      const float4 x =
          Load4(t.x + job.x_row[row] * t.x_stride + k + lane * 4, shape.in_features - k - lane * 4, t.x_aligned);
      RotateBlock(x, w.suh + k, operands + stage * t.rows_most * (kOperandBytes / 4), t.rows_most, row,
                  scales + stage * t.rows_most + row);
    }
    __syncthreads();

    const uint2* const mine = reinterpret_cast<const uint2*>(operands) + warp * stages * t.rows_most * 8 + lane;
    int slot = 0;
    for (int turn = 0; turn < strips; ++turn, ++at.strip) {
      for (int pass = 0; pass < kGroups; ++pass) {
        float sum[Plan::kColumns][kGroups][4] = {};
        if (warp < workers) {
          for (int k = 0; k < stages; ++k) {
            uint2 b[kGroups];
#pragma unroll
            for (int i = 0; i < kGroups; ++i) {
              b[i] = make_uint2(0, 0);
              if (lane / 8 + 4 * i < rows) b[i] = mine[(k * t.rows_most + 4 * i) * 8];
            }
            AsyncWait<Plan::kSlots - 2>();
            __syncwarp();  // all lanes' copies are there, and no lane reads the slot that is filled next
            fetch();
            const uint32_t* tiles = reinterpret_cast<const uint32_t*>(ring + slot * Plan::kPieceBytes);
            slot = slot + 1 == Plan::kSlots ? 0 : slot + 1;
#pragma unroll
            for (int c = 0; c < Plan::kColumns; ++c) {
              uint32_t v[4];
              Exl3TileOperands<K, kMul1>(words, hash, tiles + c * Exl3Lane<K>::kTileWords, v);
              const uint32_t a[4] = {v[0], v[2], v[1], v[3]};
#pragma unroll
              for (int i = 0; i < kGroups; ++i) {
                if (kGroups > 2 && i > 0 && i * 4 >= rows) break;
                MultiplyAdd(sum[c][i], a, b[i].x, b[i].y);
              }
            }
          }
        }
        __syncthreads();  // the sums before have been read
        if (warp < workers) {
#pragma unroll
          for (int i = 0; i < kGroups; ++i) {
            const int row = 4 * i + q;
            if (row >= rows) continue;
            const float scale = scales[warp * stages / kStageTiles * t.rows_most + row];
            float* to = sums + (warp * t.rows_most + row) * Plan::kDumpStride + g;
#pragma unroll
            for (int c = 0; c < Plan::kColumns; ++c) {
              to[c * 16] = scale * (sum[c][i][0] + sum[c][i][1]);
              to[c * 16 + 8] = scale * (sum[c][i][2] + sum[c][i][3]);
            }
          }
        }
        __syncthreads();
        for (int row = (warp + turn) % kGemvWarps; row < rows; row += kGemvWarps) {
          if (lane * 4 < Plan::kPassColumns) {
            const float* parts = sums + row * Plan::kDumpStride + lane * 4;
            float4 total = *reinterpret_cast<const float4*>(parts);
            for (int n = 1; n < workers; ++n) {
              total = Add4(total, *reinterpret_cast<const float4*>(parts + n * t.rows_most * Plan::kDumpStride));
            }
            float* to = GemvPartial(t, at) + row * kStripColumns + pass * Plan::kPassColumns + lane * 4;
            *reinterpret_cast<float4*>(to) = total;
          }
          if (pass + 1 == kGroups && launch.finish && GemvRowComplete(t, at, launch.matrices, row)) {
            GemvFinishRow(t, at, nullptr, row);
          }
        }
      }
    }
    unit += strips;
  }
}

template <int K, bool kMul1, int kGroups, typename Table>
void LaunchExl3Kernel(void* stream, const Table& t, int first, int count) {
  using Plan = Exl3Plan<K, kGroups>;
  static_assert(Table::kRows >= 4 * kGroups);
  const auto kernel = Exl3GemvKernel<K, kMul1, kGroups, Table>;
  static const bool allowed = [&] {
    CudaOrDie(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   Plan::Bytes(kMostStages, 4 * kGroups)),
              "shared memory of the EXL3 product");
    return true;
  }();
  static_cast<void>(allowed);
  const GemvShape& s = t.shape[first];
  const int bytes = Plan::Bytes(s.slice_inputs / kStageInputs, t.rows_most);
  static BlockSlots slots;
  const Exl3Launch launch{first, count, first + count == t.matrices, s.strips * s.slices * count * t.job_count};
  const int blocks = std::min(launch.units, slots.Of(reinterpret_cast<const void*>(kernel), kGemvThreads, bytes));
  LaunchEarly("EXL3 product of few rows", kernel, dim3(blocks), kGemvThreads, static_cast<size_t>(bytes),
              static_cast<cudaStream_t>(stream), t, launch);
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
