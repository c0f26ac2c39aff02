#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/mma_device.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/mla/attended_row.h"
#include "kernels/mla/latent_attention_cuda.h"

// Rank 512 in f16. A block takes a group of heads of one row through tiles of 32 ranks. Four warps (and as many more
// for further heads) share out the 512 channels, 128 each: a warp multiplies its channels of the query, which it keeps
// in registers, with its channels of the tile; the four partial scores meet in shared memory, where the softmax runs;
// then each warp mixes its channels, sums in registers. A tile lies in shared memory once for all heads and both
// products.
namespace hearth::kernels::cuda {
namespace {

constexpr int kRank = static_cast<int>(kTensorRank);
constexpr int kTile = 32;                    // ranks
constexpr int kParts = 4;                    // warps that share a head
constexpr int kSteps = kRank / kParts / 16;  // of 16 channels, per warp
constexpr int kChunks = kRank / 8;           // 16-byte chunks of a latent
constexpr float kLog2e = 1.44269504f;        // scores are kept in units of ln 2

// Decode steps of more rows go in groups.
constexpr size_t kMostSplitBytes = size_t{64} << 20;

// What a split leaves for the merge.
struct Splits {
  float* mixed = nullptr;  // [rows, splits, heads, 512], not divided
  float2* soft = nullptr;  // [rows, splits, heads]: top score, sum of weights
  int count = 0;
};

template <int kHeadWarps, int kHeadTiles>
struct Shape {
  static constexpr int kHeads = kHeadWarps * kHeadTiles * 16;
  static constexpr int kThreads = kHeadWarps * kParts * 32;
  static constexpr int kSharers = kThreads / kHeads;  // threads that share a head's softmax
  static constexpr int kOwn = kTile / kSharers;       // ranks of each
  static constexpr int kLatentBytes = 2 * kTile * kRank * 2;
  static constexpr int kScoreBytes = kParts * kHeads * kTile * 4;
  static constexpr int kSharedBytes = kLatentBytes + kScoreBytes + kHeads * 4 + 2 * kTile * 8;
};

// Chunk `chunk` of rank `r` of a tile, in halves. Eight neighbouring ranks meet eight different groups of banks.
__device__ __forceinline__ int LatentAt(int r, int chunk) { return r * kRank + ((chunk ^ (r & 7)) << 3); }

// Score of (head, rank) within one part, in floats; 16-byte chunks stay whole. Chosen so that neither the stores of the
// products nor the loads of the softmax meet in a bank.
__device__ __forceinline__ int ScoreAt(int head, int rank) {
  return (head * 8 + ((rank >> 2) ^ (((head & 3) << 1) | (head & 1)))) * 4 + (rank & 3);
}
// Weight of (head, rank), in halves, in the place of the head's scores.
__device__ __forceinline__ int WeightAt(int head, int rank) {
  return head * 64 + (((rank >> 3) ^ (head & 7)) << 3) + (rank & 7);
}

// kExact: query and weights as f16 pairs. kSplit: block x is a split and leaves sums, else it is a row and divides.
template <int kHeadWarps, int kHeadTiles, bool kExact, bool kSplit>
__global__ void __launch_bounds__(Shape<kHeadWarps, kHeadTiles>::kThreads, kSplit ? 2 : 1)
    Attend512(LatentAttentionArgs args, Dim row0, Splits splits) {
  using S = Shape<kHeadWarps, kHeadTiles>;
  AwaitKernelsBefore();
  extern __shared__ __align__(128) unsigned char shared[];
  __half* latents = reinterpret_cast<__half*>(shared);
  float* scores = reinterpret_cast<float*>(shared + S::kLatentBytes);
  float* rescale = reinterpret_cast<float*>(shared + S::kLatentBytes + S::kScoreBytes);
  Dim* slots = reinterpret_cast<Dim*>(rescale + S::kHeads);

  const Dim row = row0 + (kSplit ? blockIdx.z : blockIdx.x);
  const AttendedRow attended(args, row);
  const int begin = kSplit ? static_cast<int>(blockIdx.x * kSplitRanks) : 0;
  const int end = kSplit ? min(static_cast<int>(attended.count), begin + static_cast<int>(kSplitRanks))
                         : static_cast<int>(attended.count);
  if (kSplit && begin >= end) return;
  const int tiles = (end - begin + kTile - 1) / kTile;

  const int tid = static_cast<int>(threadIdx.x), warp = tid / 32, lane = tid % 32;
  const int group = lane / 4, pair = lane % 4 * 2;
  const int part = warp % kParts, head_base = warp / kParts * kHeadTiles * 16;  // within the block's heads
  const int heads = static_cast<int>(args.heads), head0 = static_cast<int>(blockIdx.y) * S::kHeads;

  const auto slot_of = [&](int tile) { return attended.Slot(min(begin + tile * kTile + tid, end - 1)); };
  const auto load_tile = [&](int tile) {
    __half* to = latents + (tile & 1) * kTile * kRank;
    const __half* pool = static_cast<const __half*>(args.pool);
    for (int i = tid; i < kTile * kChunks; i += S::kThreads) {
      const int r = i / kChunks, chunk = i % kChunks;
      const __half* from = pool + slots[(tile & 1) * kTile + r] * kRank + chunk * 8;
      CopyAsync16(SharedAddress(to + LatentAt(r, chunk)), from, true);
    }
    CommitCopies();
  };
  if (tid < kTile && tiles > 0) {
    slots[tid] = slot_of(0);
    slots[kTile + tid] = slot_of(1);
  }
  __syncthreads();
  if (tiles > 0) load_tile(0);

  uint32_t query[kHeadTiles][kSteps][4], query_rest[kExact ? kHeadTiles : 1][kExact ? kSteps : 1][4];
  const float factor = args.scale * kLog2e;
#pragma unroll
  for (int t = 0; t < kHeadTiles; ++t) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int head = head0 + head_base + t * 16 + group + (i & 1) * 8;
        const int channel = (part * kSteps + step) * 16 + pair + (i >> 1) * 8;
        float2 q{0.0f, 0.0f};
        if (head < heads) q = *reinterpret_cast<const float2*>(args.ql + (row * heads + head) * kRank + channel);
        q.x *= factor, q.y *= factor;
        query[t][step][i] = PackF16(q.x, q.y);
        if constexpr (kExact) query_rest[t][step][i] = PackF16Rest(q.x, q.y);
      }
    }
  }

  float mixed[kHeadTiles][kSteps * 2][4] = {};
  float top = -INFINITY, sum = 0;  // of head tid / kSharers, the same in all its threads
  for (int tile = 0; tile < tiles; ++tile) {
    const __half* latent = latents + (tile & 1) * kTile * kRank;
    WaitForCopies<0>();
    __syncthreads();  // the tile is here, and everybody is done with the one before
    Dim next_slot = 0;
    if (tile + 1 < tiles) load_tile(tile + 1);
    const bool fetch = tid < kTile && tile + 2 < tiles;
    if (fetch) next_slot = slot_of(tile + 2);

#pragma unroll
    for (int half = 0; half < 2; ++half) {  // 16 ranks
      float s[kHeadTiles][2][4] = {};
      const int r = half * 16 + (lane & 7) + (lane >> 4) * 8;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        uint32_t b[4];
        LoadMatrices(SharedAddress(latent + LatentAt(r, (part * kSteps + step) * 2 + (lane >> 3 & 1))), b);
#pragma unroll
        for (int t = 0; t < kHeadTiles; ++t) {
          MultiplyAdd(s[t][0], query[t][step], b[0], b[1]);
          MultiplyAdd(s[t][1], query[t][step], b[2], b[3]);
          if constexpr (kExact) {
            MultiplyAdd(s[t][0], query_rest[t][step], b[0], b[1]);
            MultiplyAdd(s[t][1], query_rest[t][step], b[2], b[3]);
          }
        }
      }
      float* to = scores + part * S::kHeads * kTile;
#pragma unroll
      for (int t = 0; t < kHeadTiles; ++t) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          const int head = head_base + t * 16 + group, rank = half * 16 + n * 8 + pair;
          *reinterpret_cast<float2*>(to + ScoreAt(head, rank)) = {s[t][n][0], s[t][n][1]};
          *reinterpret_cast<float2*>(to + ScoreAt(head + 8, rank)) = {s[t][n][2], s[t][n][3]};
        }
      }
    }
    if (fetch) slots[(tile & 1) * kTile + tid] = next_slot;
    __syncthreads();

    {
      const int head = tid / S::kSharers, own = tid % S::kSharers * S::kOwn;
      float p[S::kOwn], highest = -INFINITY;
#pragma unroll
      for (int i = 0; i < S::kOwn; i += 4) {
        float4 s = *reinterpret_cast<const float4*>(scores + ScoreAt(head, own + i));
#pragma unroll
        for (int k = 1; k < kParts; ++k) {
          const float4 more = *reinterpret_cast<const float4*>(scores + k * S::kHeads * kTile + ScoreAt(head, own + i));
          s.x += more.x, s.y += more.y, s.z += more.z, s.w += more.w;
        }
        p[i] = s.x, p[i + 1] = s.y, p[i + 2] = s.z, p[i + 3] = s.w;
      }
      const int left = end - (begin + tile * kTile + own);
#pragma unroll
      for (int i = 0; i < S::kOwn; ++i) {
        if (i >= left) p[i] = -INFINITY;
        highest = fmaxf(highest, p[i]);
      }
#pragma unroll
      for (int offset = 1; offset < S::kSharers; offset *= 2) {
        highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, offset));
      }
      const float new_top = fmaxf(top, highest);
      const float old_weight = exp2f(top - new_top);
      float tile_sum = 0;
#pragma unroll
      for (int i = 0; i < S::kOwn; ++i) {
        p[i] = exp2f(p[i] - new_top);
        // What is mixed is what is summed, so that rounded weights still add up to one.
        tile_sum += kExact ? p[i] : RoundF16(p[i]);
      }
#pragma unroll
      for (int offset = 1; offset < S::kSharers; offset *= 2) {
        tile_sum += __shfl_xor_sync(kAllLanes, tile_sum, offset);
      }
      sum = fmaf(sum, old_weight, tile_sum);
      top = new_top;
      __syncwarp();  // the head's scores have been read, its weights take their place
      __half* weights = reinterpret_cast<__half*>(scores);
#pragma unroll
      for (int i = 0; i < S::kOwn; i += 4) {
        *reinterpret_cast<uint2*>(weights + WeightAt(head, own + i)) = {PackF16(p[i], p[i + 1]),
                                                                        PackF16(p[i + 2], p[i + 3])};
        if constexpr (kExact) {
          *reinterpret_cast<uint2*>(weights + S::kHeads * kTile * 2 + WeightAt(head, own + i)) = {
              PackF16Rest(p[i], p[i + 1]), PackF16Rest(p[i + 2], p[i + 3])};
        }
      }
      if (tid % S::kSharers == 0) rescale[head] = old_weight;
    }
    __syncthreads();

#pragma unroll
    for (int t = 0; t < kHeadTiles; ++t) {
      const float f0 = rescale[head_base + t * 16 + group], f1 = rescale[head_base + t * 16 + group + 8];
      if (__any_sync(kAllLanes, f0 != 1.0f || f1 != 1.0f)) {
#pragma unroll
        for (int n = 0; n < kSteps * 2; ++n) {
          mixed[t][n][0] *= f0, mixed[t][n][1] *= f0;
          mixed[t][n][2] *= f1, mixed[t][n][3] *= f1;
        }
      }
    }
    const __half* weights = reinterpret_cast<const __half*>(scores);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t p[kHeadTiles][4], p_rest[kExact ? kHeadTiles : 1][4];
#pragma unroll
      for (int t = 0; t < kHeadTiles; ++t) {
        const int head = head_base + t * 16 + (lane & 15), rank = half * 16 + (lane >> 4) * 8;
        LoadMatrices(SharedAddress(weights + WeightAt(head, rank)), p[t]);
        if constexpr (kExact) {
          LoadMatrices(SharedAddress(weights + S::kHeads * kTile * 2 + WeightAt(head, rank)), p_rest[t]);
        }
      }
      const int r = half * 16 + (lane & 15);
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        uint32_t b[4];
        LoadMatricesTransposed(SharedAddress(latent + LatentAt(r, (part * kSteps + step) * 2 + (lane >> 4))), b);
#pragma unroll
        for (int t = 0; t < kHeadTiles; ++t) {
          MultiplyAdd(mixed[t][step * 2], p[t], b[0], b[1]);
          MultiplyAdd(mixed[t][step * 2 + 1], p[t], b[2], b[3]);
          if constexpr (kExact) {
            MultiplyAdd(mixed[t][step * 2], p_rest[t], b[0], b[1]);
            MultiplyAdd(mixed[t][step * 2 + 1], p_rest[t], b[2], b[3]);
          }
        }
      }
    }
  }

  const Dim unit = kSplit ? (static_cast<Dim>(blockIdx.z) * splits.count + blockIdx.x) * heads : row * heads;
  float* out = kSplit ? splits.mixed : args.ol;
  __syncthreads();
  if (tid % S::kSharers == 0) {
    const int head = tid / S::kSharers;
    rescale[head] = kSplit ? 1.0f : sum > 0 ? 1.0f / sum : 0.0f;
    if (kSplit && head0 + head < heads) splits.soft[unit + head0 + head] = {top, sum};
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < kHeadTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int local = head_base + t * 16 + group + i * 8;
      if (head0 + local >= heads) continue;
      const float f = rescale[local];
      float* to = out + (unit + head0 + local) * kRank + part * kSteps * 16 + pair;
#pragma unroll
      for (int n = 0; n < kSteps * 2; ++n) {
        *reinterpret_cast<float2*>(to + n * 8) = {mixed[t][n][i * 2] * f, mixed[t][n][i * 2 + 1] * f};
      }
    }
  }
}

// Block (head, row), four channels per thread. Splits ascending.
__global__ void __launch_bounds__(kRank / 4) MergeSplits(LatentAttentionArgs args, Dim row0, Splits splits) {
  AwaitKernelsBefore();
  const Dim row = row0 + blockIdx.y, heads = args.heads;
  const int used = (static_cast<int>(AttendedRow(args, row).count) + static_cast<int>(kSplitRanks) - 1) /
                   static_cast<int>(kSplitRanks);
  const Dim first = static_cast<Dim>(blockIdx.y) * splits.count * heads + blockIdx.x;
  float top = -INFINITY;
  for (int s = 0; s < used; ++s) top = fmaxf(top, splits.soft[first + s * heads].x);
  float sum = 0;
  float4 mixed{};
#pragma unroll 4
  for (int s = 0; s < used; ++s) {
    const float2 soft = splits.soft[first + s * heads];
    const float4 m = reinterpret_cast<const float4*>(splits.mixed + (first + s * heads) * kRank)[threadIdx.x];
    const float f = exp2f(soft.x - top);
    sum = fmaf(soft.y, f, sum);
    mixed.x = fmaf(m.x, f, mixed.x), mixed.y = fmaf(m.y, f, mixed.y);
    mixed.z = fmaf(m.z, f, mixed.z), mixed.w = fmaf(m.w, f, mixed.w);
  }
  const float f = sum > 0 ? 1.0f / sum : 0.0f;
  reinterpret_cast<float4*>(args.ol + (row * heads + blockIdx.x) * kRank)[threadIdx.x] = {mixed.x * f, mixed.y * f,
                                                                                          mixed.z * f, mixed.w * f};
}

template <typename Kernel>
void AllowShared(Kernel* kernel, int bytes) {
  CudaOrDie(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "LatentAttention shared");
}

unsigned Blocks(Dim count, Dim per_block) { return static_cast<unsigned>((count + per_block - 1) / per_block); }

}  // namespace

void AttendPrefill512(cudaStream_t stream, const LatentAttentionArgs& args) {
  using S = Shape<2, 2>;
  const auto kernel = Attend512<2, 2, false, false>;
  AllowShared(kernel, S::kSharedBytes);
  const dim3 grid(static_cast<unsigned>(args.rows), Blocks(args.heads, S::kHeads));
  kernel<<<grid, S::kThreads, S::kSharedBytes, stream>>>(args, 0, Splits{});
  LaunchedOrDie("LatentAttention prefill");
}

void AttendDecode512(cudaStream_t stream, const LatentAttentionArgs& args) {
  using S = Shape<1, 1>;
  const auto kernel = Attend512<1, 1, true, true>;
  AllowShared(kernel, S::kSharedBytes);
  // How many are attended is known on the device only: splits without ranks end at once.
  const Dim most_ranks = args.selected_stride * args.kpool + args.kpool - 1;
  Splits splits;
  splits.count = static_cast<int>(Blocks(most_ranks, kSplitRanks));
  const Dim per_row = splits.count * args.heads;
  const size_t row_bytes = static_cast<size_t>(per_row) * (kRank * sizeof(float) + sizeof(float2));
  const Dim group = std::clamp<Dim>(static_cast<Dim>(kMostSplitBytes / row_bytes), 1, args.rows);
  splits.mixed = static_cast<float*>(Scratch(stream, static_cast<size_t>(group) * row_bytes));
  splits.soft = reinterpret_cast<float2*>(splits.mixed + group * per_row * kRank);
  for (Dim row0 = 0; row0 < args.rows; row0 += group) {
    const auto rows = static_cast<unsigned>(std::min(group, args.rows - row0));
    const dim3 grid(static_cast<unsigned>(splits.count), Blocks(args.heads, S::kHeads), rows);
    LaunchEarly("LatentAttention decode", kernel, grid, S::kThreads, S::kSharedBytes, stream, args, row0, splits);
    LaunchEarly("LatentAttention merge", MergeSplits, dim3(static_cast<unsigned>(args.heads), rows), kRank / 4, 0,
                stream, args, row0, splits);
  }
}

}  // namespace hearth::kernels::cuda
