#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/ordered_key.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda_ops.h"
#include "kernels/indexer/index_scores.cuh"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits;
constexpr int kBinsPerThread = kBins / kThreads;
constexpr size_t kMostScoreBytes = size_t{256} << 20;  // more rows go in groups

// Sum of `value` over the threads before this one. `warp_sums` is shared and free afterwards.
__device__ unsigned SumBefore(unsigned value, unsigned* warp_sums) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned upto = value;
  for (int offset = 1; offset < 32; offset *= 2) {
    const unsigned other = __shfl_up_sync(kAllLanes, upto, offset);
    if (lane >= static_cast<unsigned>(offset)) upto += other;
  }
  if (lane == 31) warp_sums[warp] = upto;
  __syncthreads();
  unsigned before = upto - value;
  for (unsigned w = 0; w < warp; ++w) before += warp_sums[w];
  __syncthreads();
  return before;
}

// One block per row. Finds the key of the last pool kept, digit by digit from the top, then writes the pools above it
// and the first of those equal to it. Counts are integers, so the order of the atomic additions does not show.
__global__ void __launch_bounds__(kThreads)
    SelectPools(IndexSelectArgs args, Dim row0, Dim stride, const float* scores) {
  AwaitKernelsBefore();
  __shared__ unsigned bins[kBins];
  __shared__ unsigned warp_sums[kWarps], warp_equal[kWarps];
  __shared__ unsigned found_bin, found_above;
  const Dim row = row0 + blockIdx.x;
  const int tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  const int visible = (args.where.row_position[row] + 1) / static_cast<int>(args.kpool);
  const int kept = static_cast<int>(min(static_cast<Dim>(visible), args.max_selected));
  int32_t* selected = args.selected + row * args.max_selected;
  if (tid == 0) args.selected_count[row] = kept;
  if (visible <= args.max_selected) {
    for (int i = tid; i < visible; i += kThreads) selected[i] = i;
    return;
  }
  if (kept == 0) return;

  const float* score = scores + blockIdx.x * stride;
  unsigned known = 0, mask = 0;                   // digits of the wanted key found so far
  unsigned wanted = static_cast<unsigned>(kept);  // of the pools that have them, counted from the largest
  for (int shift = 32 - kDigitBits, digits = kDigitBits; digits > 0;) {
    for (int i = tid; i < kBins; i += kThreads) bins[i] = 0;
    __syncthreads();
#pragma unroll 4
    for (int i = tid; i < visible; i += kThreads) {
      const unsigned key = OrderedKey(score[i]);
      if ((key & mask) == known) atomicAdd(&bins[key >> shift & (kBins - 1)], 1u);
    }
    __syncthreads();
    // Each thread takes kBinsPerThread bins, the largest first.
    unsigned own = 0;
    const int top_bin = kBins - 1 - tid * kBinsPerThread;
    for (int b = 0; b < kBinsPerThread; ++b) own += bins[top_bin - b];
    unsigned above = SumBefore(own, warp_sums);
    if (above < wanted && wanted <= above + own) {
      int b = 0;
      for (; above + bins[top_bin - b] < wanted; ++b) above += bins[top_bin - b];
      found_bin = static_cast<unsigned>(top_bin - b);
      found_above = above;
    }
    __syncthreads();
    known |= found_bin << shift;
    mask |= static_cast<unsigned>(kBins - 1) << shift;
    wanted -= found_above;
    digits = min(kDigitBits, shift);
    shift -= digits;
    __syncthreads();
  }

  // `known` is the whole key, `wanted` how many of the pools that have it are kept.
  unsigned above = 0, equal = 0;  // in the pools before this round
  for (int base = 0; base < visible; base += kThreads) {
    const int pool = base + tid;
    const unsigned key = pool < visible ? OrderedKey(score[pool]) : 0;
    const bool is_above = pool < visible && key > known, is_equal = pool < visible && key == known;
    const unsigned above_lanes = __ballot_sync(kAllLanes, is_above), equal_lanes = __ballot_sync(kAllLanes, is_equal);
    if (lane == 0) {
      warp_sums[warp] = static_cast<unsigned>(__popc(above_lanes));
      warp_equal[warp] = static_cast<unsigned>(__popc(equal_lanes));
    }
    __syncthreads();
    const unsigned lower = (1u << lane) - 1;
    unsigned my_above = above + static_cast<unsigned>(__popc(above_lanes & lower));
    unsigned my_equal = equal + static_cast<unsigned>(__popc(equal_lanes & lower));
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) my_above += warp_sums[w], my_equal += warp_equal[w];
      above += warp_sums[w], equal += warp_equal[w];
    }
    const unsigned place = my_above + min(my_equal, wanted);
    if (is_above || (is_equal && my_equal < wanted)) selected[place] = pool;
    __syncthreads();
    if (above + min(equal, wanted) == static_cast<unsigned>(kept)) break;
  }
}

}  // namespace

void IndexSelect(void* stream, const IndexSelectArgs& args) {
  if (args.rows == 0) return;
  const auto s = static_cast<cudaStream_t>(stream);
  // Positions are known on the device only; no row sees more pools than its pages hold.
  const Dim most_pools = args.where.page_stride * args.where.page_tokens / args.kpool;
  const bool scored = most_pools > args.max_selected;
  const Dim stride = (most_pools + 31) / 32 * 32;
  const Dim row_bytes = stride * static_cast<Dim>(sizeof(float));
  // Multiples of 8 rows, which share the reading of keys.
  const Dim group = scored ? std::max<Dim>(8, static_cast<Dim>(kMostScoreBytes) / row_bytes / 8 * 8) : args.rows;
  const Dim most_rows = std::min(group, args.rows);
  // To a power of two, so that a growing context does not grow the scratch with every chunk.
  float* scores = scored
                      ? static_cast<float*>(Scratch(stream, std::bit_ceil(static_cast<size_t>(most_rows * row_bytes))))
                      : nullptr;
  for (Dim row0 = 0; row0 < args.rows; row0 += group) {
    const Dim rows = std::min(group, args.rows - row0);
    if (scored) IndexScores(s, args, row0, rows, most_pools, stride, scores);
    LaunchEarly("IndexSelect", SelectPools, dim3(static_cast<unsigned>(rows)), kThreads, 0, s, args, row0, stride,
                scores);
  }
}

}  // namespace hearth::kernels::cuda
