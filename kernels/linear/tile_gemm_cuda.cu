#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/mma_device.cuh"
#include "kernels/linear/job_list_cuda.h"
#include "kernels/linear/operand_jobs_cuda.h"
#include "kernels/linear/tile_layout.h"

namespace hearth::kernels::cuda {
namespace {

// A block makes 128 rows x kStrips strips; a warp 32 rows x one strip, so that a row's 128 outputs lie in the 4 lanes
// of a quad and the output rotation stays in registers. Neither the shape of a block nor the number of stages shows in
// the result: an output is one chain of mma over ascending k.
constexpr int kRowsPerBlock = 128;
constexpr int kRowWarps = 4;
constexpr int kColumnGroups = 16;                           // of 8 columns
constexpr float kHadamardScale = 0.088388347648318440550f;  // 1 / sqrt(128)

template <int kStripsPerBlock, int kStagesPerBlock, int kStageChunks>
struct Shape {
  static constexpr int kStrips = kStripsPerBlock;
  static constexpr int kStages = kStagesPerBlock;
  static constexpr int kChunks = kStageChunks;    // k steps of 16 in a stage
  static constexpr int kRowChunks = 2 * kChunks;  // 16-byte pieces of a row in a stage
  static constexpr int kThreads = kRowWarps * kStrips * 32;
  static constexpr int kRowBytes = kRowsPerBlock * kRowChunks * 16;
  static constexpr int kStripBytes = kChunks * kChunkBytes;
  static constexpr int kStageBytes = kRowBytes + kStrips * kStripBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
  static_assert(kInputPadding % (16 * kChunks) == 0, "k is a whole number of stages");
};

// What a thread copies into every stage: pieces of 16 bytes of the activations, kThreads apart, then of the weights.
// Only the addresses of stage 0 are computed; the rest is uniform or constant.
template <typename S>
struct StageLoader {
  static constexpr int kRowPieces = kRowsPerBlock * S::kRowChunks / S::kThreads;
  static constexpr int kRowStep = S::kThreads / S::kRowChunks;
  static constexpr int kStripPieces = S::kStripBytes / 16 / S::kThreads;
  static_assert(kRowStep % 8 == 0, "then the place in shared memory advances by the same step");
  static_assert(kStripPieces * S::kThreads * 16 == S::kStripBytes, "a piece has one strip for all threads");

  const char* x;
  const char* tiles[S::kStrips];  // null: no such strip
  uint32_t from[kRowPieces];      // scratch keeps rows far below 4 GiB
  uint32_t valid = 0;             // bit per row piece
  uint32_t to;

  __device__ StageLoader(const GemmJob& job, int first_row, int first_strip) {
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / S::kRowChunks, chunk = thread % S::kRowChunks;
    x = reinterpret_cast<const char*>(job.x);
    to = ActivationChunk<S::kRowChunks>(row, chunk) * 16;
#pragma unroll
    for (int i = 0; i < kRowPieces; ++i) {
      const int r = first_row + row + i * kRowStep;
      from[i] = static_cast<uint32_t>(r < job.rows ? r : 0) * static_cast<uint32_t>(job.k) * 2 + chunk * 16;
      valid |= (r < job.rows ? 1u : 0u) << i;
    }
#pragma unroll
    for (int s = 0; s < S::kStrips; ++s) {
      const int64_t strip_bytes = int64_t{job.k / 16} * kChunkBytes;
      tiles[s] = first_strip + s < job.strips
                     ? reinterpret_cast<const char*>(job.tiles) + (first_strip + s) * strip_bytes
                     : nullptr;
    }
  }

  __device__ void Load(int stage, uint32_t shared) const {
#pragma unroll
    for (int i = 0; i < kRowPieces; ++i) {
      CopyAsync16(shared + to + i * S::kThreads * 16, x + stage * (S::kRowChunks * 16) + from[i], valid >> i & 1);
    }
    shared += S::kRowBytes + threadIdx.x * 16;
#pragma unroll
    for (int s = 0; s < S::kStrips; ++s) {
      if (tiles[s] == nullptr) continue;  // nobody reads what lies there
      const char* strip = tiles[s] + int64_t{stage} * S::kStripBytes + threadIdx.x * 16;
#pragma unroll
      for (int i = 0; i < kStripPieces; ++i) {
        CopyAsync16(shared + s * S::kStripBytes + i * S::kThreads * 16, strip + i * S::kThreads * 16, true);
      }
    }
  }
};

template <typename S>
__device__ void MultiplyStage(uint32_t shared, float (&sums)[2][kColumnGroups][4]) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int row = warp % kRowWarps * 32 + lane % 16;
  const uint32_t weights = shared + S::kRowBytes + warp / kRowWarps * S::kStripBytes + lane * 16;
#pragma unroll
  for (int chunk = 0; chunk < S::kChunks; ++chunk) {
    uint32_t x[2][4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      LoadMatrices(shared + ActivationChunk<S::kRowChunks>(row + 16 * half, 2 * chunk + lane / 16) * 16, x[half]);
    }
#pragma unroll
    for (int tile = 0; tile < kStripTiles; ++tile) {
      const uint4 w = LoadShared16(weights + (chunk * kStripTiles + tile) * kTileWeights * 2);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        MultiplyAdd(sums[half][2 * tile], x[half], w.x, w.y);
        MultiplyAdd(sums[half][2 * tile + 1], x[half], w.z, w.w);
      }
    }
  }
}

// The 128 outputs of one row: lane q of a quad holds columns 8n + 2q and 8n + 2q + 1 in sums[n][at], sums[n][at + 1].
__device__ void Rotate(float (&sums)[kColumnGroups][4], int at) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int n = 0; n < kColumnGroups; ++n) {
    const float a = sums[n][at], b = sums[n][at + 1];
    sums[n][at] = a + b;
    sums[n][at + 1] = a - b;
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float other = __shfl_xor_sync(0xFFFFFFFFu, sums[n][at + e], distance);
        sums[n][at + e] = (lane & distance) != 0 ? other - sums[n][at + e] : sums[n][at + e] + other;
      }
    }
  }
#pragma unroll
  for (int distance = 1; distance < kColumnGroups; distance *= 2) {
#pragma unroll
    for (int n = 0; n < kColumnGroups; ++n) {
      if ((n & distance) != 0) continue;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float a = sums[n][at + e], b = sums[n + distance][at + e];
        sums[n][at + e] = a + b;
        sums[n + distance][at + e] = a - b;
      }
    }
  }
}

__device__ void StoreOutputs(const GemmJob& job, int first_row, int strip, float (&sums)[2][kColumnGroups][4]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  float* y[4];
  float scale[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + 8 * i + lane / 4;
    const bool valid = row < job.rows;
    const int64_t to = valid && job.y_row != nullptr ? job.y_row[row] : row;
    y[i] = valid ? job.y + to * job.y_stride : nullptr;
    scale[i] = valid ? job.row_scale[row] : 0.0f;
  }
  const bool rotated = job.svh != nullptr;
  if (rotated) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Rotate(sums[half], 0);
      Rotate(sums[half], 2);
    }
  }
  const bool pairs = ((reinterpret_cast<uintptr_t>(job.y) | static_cast<uintptr_t>(job.y_stride * 4)) & 7) == 0;
#pragma unroll
  for (int n = 0; n < kColumnGroups; ++n) {
    const int column = strip * static_cast<int>(kStripColumns) + 8 * n + 2 * (lane % 4);
    float factor[2] = {1.0f, 1.0f}, bias[2] = {0.0f, 0.0f};
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (rotated) factor[e] = __half2float(reinterpret_cast<const __half*>(job.svh)[column + e]);
      if (job.column_scale != nullptr) factor[e] = job.column_scale[column + e];
      if (job.bias != nullptr && column + e < job.columns) bias[e] = job.bias[column + e];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (y[i] == nullptr) continue;
      float out[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        out[e] = sums[i / 2][n][i % 2 * 2 + e] * scale[i];
        if (rotated) out[e] = out[e] * kHadamardScale;
        out[e] = out[e] * factor[e] + bias[e];
      }
      if (pairs && column + 1 < job.columns) {
        *reinterpret_cast<float2*>(y[i] + column) = make_float2(out[0], out[1]);
      } else {
        if (column < job.columns) y[i][column] = out[0];
        if (column + 1 < job.columns) y[i][column + 1] = out[1];
      }
    }
  }
}

template <typename S>
__global__ void __launch_bounds__(S::kThreads) TileGemmKernel(const __grid_constant__ JobList<GemmJob> list) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int i = list.JobOf(static_cast<int>(blockIdx.x));
  const GemmJob& job = list.jobs[i];
  int m, n;
  TileOrder(static_cast<int>(blockIdx.x) - list.first_block[i], (job.rows + kRowsPerBlock - 1) / kRowsPerBlock,
            (job.strips + S::kStrips - 1) / S::kStrips, &m, &n);
  const int first_row = m * kRowsPerBlock, first_strip = n * S::kStrips;
  const int steps = job.k / (16 * S::kChunks);
  const uint32_t shared = SharedAddress(memory);
  const StageLoader<S> loader(job, first_row, first_strip);

  const int warp = static_cast<int>(threadIdx.x / 32), strip = first_strip + warp / kRowWarps;

  float sums[2][kColumnGroups][4] = {};
#pragma unroll
  for (int stage = 0; stage < S::kStages - 1; ++stage) {
    if (stage < steps) loader.Load(stage, shared + stage * S::kStageBytes);
    CommitCopies();  // also when empty: the wait below counts groups
  }
  int reading = 0, writing = S::kStages - 1;
  for (int step = 0; step < steps; ++step) {
    WaitForCopies<S::kStages - 2>();
    __syncthreads();  // the stage is there for all, and all are done with the one that is loaded next
    const int next = step + S::kStages - 1;
    if (next < steps) loader.Load(next, shared + writing * S::kStageBytes);
    CommitCopies();
    if (strip < job.strips) MultiplyStage<S>(shared + reading * S::kStageBytes, sums);
    reading = reading + 1 == S::kStages ? 0 : reading + 1;
    writing = writing + 1 == S::kStages ? 0 : writing + 1;
  }
  if (strip < job.strips) StoreOutputs(job, first_row + warp % kRowWarps * 32, strip, sums);
}

template <typename S>
void Launch(cudaStream_t stream, std::span<const GemmJob> jobs) {
  static const cudaError_t allowed =
      cudaFuncSetAttribute(TileGemmKernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes);
  CudaOrDie(allowed, "shared memory of TileGemmKernel");
  JobList<GemmJob> list;
  for (const GemmJob& job : jobs) {
    const int64_t m = (job.rows + kRowsPerBlock - 1) / kRowsPerBlock;
    list.Add(job, m * ((job.strips + S::kStrips - 1) / S::kStrips));
  }
  if (list.blocks() == 0) return;
  TileGemmKernel<S><<<list.blocks(), S::kThreads, S::kSharedBytes, stream>>>(list);
  LaunchedOrDie("TileGemmKernel");
}

using Narrow = Shape<1, 4, 2>;      // 64 KiB of shared memory
using Wide = Shape<2, 4, 2>;        // 96 KiB: what sm_86 and sm_89 allow a block
using NarrowDeep = Shape<1, 3, 4>;  // 96 KiB
using WideDeep = Shape<2, 3, 4>;    // 144 KiB

template <typename S>
bool Fits() {
  static const bool fits = [] {
    int device = 0, most = 0;
    CudaOrDie(cudaGetDevice(&device), "cudaGetDevice");
    CudaOrDie(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
    return S::kSharedBytes <= most;
  }();
  return fits;
}

}  // namespace

bool GemmBlockFits(GemmBlock block) { return block != GemmBlock::kWideDeep || Fits<WideDeep>(); }

void MultiplyTiles(cudaStream_t stream, std::span<const GemmJob> jobs, GemmBlock block) {
  switch (block) {
    case GemmBlock::kNarrow:
      return Launch<Narrow>(stream, jobs);
    case GemmBlock::kWide:
      return Launch<Wide>(stream, jobs);
    // Measured on an H200, 8,192 rows: 383 TFLOP/s, 340 with wide and deep blocks, 300 with the shallow ones.
    case GemmBlock::kAuto:
    case GemmBlock::kNarrowDeep:
      return Launch<NarrowDeep>(stream, jobs);
    case GemmBlock::kWideDeep:
      return Launch<WideDeep>(stream, jobs);
  }
}

}  // namespace hearth::kernels::cuda
