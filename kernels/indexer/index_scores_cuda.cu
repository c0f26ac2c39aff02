#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/kv_element.cuh"
#include "kernels/cuda/mma_device.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/indexer/index_scores.cuh"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kDim = 128, kMostHeads = 32;
constexpr int kTile = 128;         // pools
constexpr int kChunks = kDim / 8;  // 16-byte chunks of a key
constexpr int kSteps = kDim / 16;  // of 16 channels
constexpr int kHeadTiles = kMostHeads / 8;
constexpr int kSharedBytes = 2 * kTile * kDim * 2;

struct Plan {
  Dim row0 = 0, rows = 0;
  Dim stride = 0;
  float* scores = nullptr;
  float head_scale = 0;  // heads^-0.5 * dim^-0.5
  int rows_per_block = 0, pools_per_block = 0;
};

// How many pools of the row want a score.
__device__ __forceinline__ int Wanted(const IndexSelectArgs& args, Dim row) {
  const int visible = (args.where.row_position[row] + 1) / static_cast<int>(args.kpool);
  return visible > args.max_selected ? visible : 0;
}

// Numbers a key's chunk within a tile, in halves: eight neighbouring pools meet eight different groups of banks.
__device__ __forceinline__ int KeyAt(int pool, int chunk) { return pool * kDim + ((chunk ^ (pool & 7)) << 3); }

// Block (range of pools, group of rows). The warps take the rows in turn; warps that share a row share out the pools of
// a tile. A warp keeps its row's queries in registers and multiplies 16 pools at a time with them, so that a pool's
// heads meet within four lanes.
__global__ void __launch_bounds__(kThreads, 1) TensorScores(IndexSelectArgs args, Plan plan) {
  AwaitKernelsBefore();
  extern __shared__ __align__(128) __half keys[];
  const int tid = static_cast<int>(threadIdx.x), warp = tid / 32, lane = tid % 32;
  const int group = lane / 4, pair = lane % 4 * 2;
  const int heads = static_cast<int>(args.heads);
  const Dim first_row = plan.row0 + static_cast<Dim>(blockIdx.y) * plan.rows_per_block;
  const int row_count = static_cast<int>(min(static_cast<Dim>(plan.rows_per_block), plan.row0 + plan.rows - first_row));
  const int pool_begin = static_cast<int>(blockIdx.x) * plan.pools_per_block;
  const uint32_t per_page = static_cast<uint32_t>(args.where.page_tokens / args.kpool);

  int most = 0;
  for (int r = 0; r < row_count; ++r) most = max(most, Wanted(args, first_row + r));
  if (pool_begin >= most) return;

  const int mine = warp % plan.rows_per_block, share = warp / plan.rows_per_block;
  const int shares = kWarps / plan.rows_per_block;
  const Dim row = first_row + min(mine, row_count - 1);
  uint32_t query[kHeadTiles][kSteps][2], query_rest[kHeadTiles][kSteps][2];
  float weight[kHeadTiles][2];
#pragma unroll
  for (int t = 0; t < kHeadTiles; ++t) {
    const int head = t * 8 + group;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float2 q{0.0f, 0.0f};
        if (head < heads) {
          q = *reinterpret_cast<const float2*>(args.iq + (row * heads + head) * kDim + step * 16 + pair + i * 8);
        }
        query[t][step][i] = PackF16(q.x, q.y);
        query_rest[t][step][i] = PackF16Rest(q.x, q.y);
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int h = t * 8 + pair + i;
      weight[t][i] = h < heads ? args.head_weight[row * heads + h] * plan.head_scale : 0.0f;
    }
  }

  // Rows of one sequence share its keys; rows of a block may belong to several.
  for (int run = 0; run < row_count;) {
    const int sequence = args.where.row_sequence[first_row + run];
    int run_end = run, run_wanted = 0;
    for (; run_end < row_count && args.where.row_sequence[first_row + run_end] == sequence; ++run_end) {
      run_wanted = max(run_wanted, Wanted(args, first_row + run_end));
    }
    const int wanted = mine >= run && mine < run_end ? Wanted(args, first_row + mine) : 0;
    const int end = min(run_wanted, pool_begin + plan.pools_per_block);
    const int32_t* pages = args.where.pages + sequence * args.where.page_stride;
    const auto load_tile = [&](int tile) {
      __half* to = keys + (tile & 1) * kTile * kDim;
      for (int i = tid; i < kTile * kChunks; i += kThreads) {
        const int r = i / kChunks, chunk = i % kChunks;
        const uint32_t pool = static_cast<uint32_t>(min(pool_begin + tile * kTile + r, run_wanted - 1));
        const Dim slot = static_cast<Dim>(pages[pool / per_page]) * per_page + pool % per_page;
        const __half* from = static_cast<const __half*>(args.pool_keys) + slot * kDim + chunk * 8;
        CopyAsync16(SharedAddress(to + KeyAt(r, chunk)), from, true);
      }
      CommitCopies();
    };
    const int tiles = end > pool_begin ? (end - pool_begin + kTile - 1) / kTile : 0;
    __syncthreads();  // the run before is done with the keys
    if (tiles > 0) load_tile(0);
    for (int tile = 0; tile < tiles; ++tile) {
      WaitForCopies<0>();
      __syncthreads();
      if (tile + 1 < tiles) load_tile(tile + 1);
      const __half* key = keys + (tile & 1) * kTile * kDim;
      for (int sub = share; sub < kTile / 16; sub += shares) {
        const int pool = pool_begin + tile * kTile + sub * 16;
        if (pool >= wanted) break;
        float dot[kHeadTiles][4] = {};
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          uint32_t a[4];
          LoadMatrices(SharedAddress(key + KeyAt(sub * 16 + (lane & 15), step * 2 + (lane >> 4))), a);
#pragma unroll
          for (int t = 0; t < kHeadTiles; ++t) MultiplyAdd(dot[t], a, query[t][step][0], query[t][step][1]);
#pragma unroll
          for (int t = 0; t < kHeadTiles; ++t) MultiplyAdd(dot[t], a, query_rest[t][step][0], query_rest[t][step][1]);
        }
        float low = 0, high = 0;  // pools `group` and `group` + 8
#pragma unroll
        for (int t = 0; t < kHeadTiles; ++t) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            low = fmaf(weight[t][i], fmaxf(0.0f, dot[t][i]), low);
            high = fmaf(weight[t][i], fmaxf(0.0f, dot[t][i + 2]), high);
          }
        }
#pragma unroll
        for (int offset = 1; offset < 4; offset *= 2) {
          low += __shfl_xor_sync(kAllLanes, low, offset);
          high += __shfl_xor_sync(kAllLanes, high, offset);
        }
        float* to = plan.scores + (first_row + mine - plan.row0) * plan.stride;
        if (pair == 0 && pool + group < wanted) to[pool + group] = low;
        if (pair == 2 && pool + group + 8 < wanted) to[pool + group + 8] = high;
      }
    }
    run = run_end;
  }
}

// One thread per pool: channels ascending, then heads ascending.
__global__ void __launch_bounds__(kThreads) PlainScores(IndexSelectArgs args, Plan plan, float dot_scale) {
  AwaitKernelsBefore();
  const Dim row = plan.row0 + blockIdx.y, pool = static_cast<Dim>(blockIdx.x) * kThreads + threadIdx.x, dim = args.dim;
  if (pool >= Wanted(args, row)) return;
  const Dim key = args.where.PoolSlot(args.where.row_sequence[row], pool, args.kpool) * dim;
  float score = 0;
  for (Dim h = 0; h < args.heads; ++h) {
    const float* query = args.iq + (row * args.heads + h) * dim;
    float dot = 0;
    for (Dim c = 0; c < dim; ++c) dot = fmaf(query[c], LoadKvElement(args.pool_keys, args.kv_type, key + c), dot);
    score = fmaf(args.head_weight[row * args.heads + h] * plan.head_scale, fmaxf(0.0f, dot * dot_scale), score);
  }
  plan.scores[(row - plan.row0) * plan.stride + pool] = score;
}

unsigned Blocks(Dim count, Dim per_block) { return static_cast<unsigned>((count + per_block - 1) / per_block); }

}  // namespace

void IndexScores(cudaStream_t stream, const IndexSelectArgs& args, Dim row0, Dim rows, Dim most_pools, Dim stride,
                 float* scores) {
  const auto dim_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(args.dim)));
  const double heads_scale = 1.0 / std::sqrt(static_cast<double>(args.heads));
  Plan plan{.row0 = row0, .rows = rows, .stride = stride, .scores = scores};
  if (args.kv_type == KvType::kF16 && args.dim == kDim && args.heads <= kMostHeads) {
    // relu(a d) = d relu(a), so both scales go into the head's weight.
    plan.head_scale = static_cast<float>(heads_scale / std::sqrt(static_cast<double>(args.dim)));
    // Many rows share the reading of keys, few rows share out the pools; the bits are the same.
    plan.rows_per_block = rows >= 64 ? kWarps : 1;
    plan.pools_per_block = rows >= 64 ? 32 * kTile : kTile;
    CudaOrDie(cudaFuncSetAttribute(TensorScores, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
              "IndexScores shared");
    const dim3 grid(Blocks(most_pools, plan.pools_per_block), Blocks(rows, plan.rows_per_block));
    LaunchEarly("IndexScores", TensorScores, grid, kThreads, kSharedBytes, stream, args, plan);
  } else {
    plan.head_scale = static_cast<float>(heads_scale);
    LaunchEarly("IndexScores", PlainScores, dim3(Blocks(most_pools, kThreads), static_cast<unsigned>(rows)), kThreads,
                0, stream, args, plan, dim_scale);
  }
}

}  // namespace hearth::kernels::cuda
