#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/kv_element.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kMostSegments = 64;

// Segments travel as a kernel argument: nothing to upload, nothing to keep alive.
struct Segments {
  IndexSegment at[kMostSegments];
};

// One warp. The order depends on dim alone.
__device__ void LayerNormRow(const IndexPoolArgs& args, Dim row, float* out) {
  const float* x = args.k_raw + row * args.dim;
  const Dim n = args.dim, lane = threadIdx.x % 32;
  float sum = 0;
  for (Dim i = lane; i < n; i += 32) sum += x[i];
  const float mean = WarpSum(sum) / static_cast<float>(n);
  float squares = 0;
  for (Dim i = lane; i < n; i += 32) squares = fmaf(x[i] - mean, x[i] - mean, squares);
  const float deviation = sqrtf(WarpSum(squares) / static_cast<float>(n) + 1e-6f);
  for (Dim i = lane; i < n; i += 32) out[i] = (x[i] - mean) / deviation * args.k_weight[i] + args.k_bias[i];
}

// Block (p, s): pool number p of those that segment s touches. Only the segment's first pool may have tokens from
// earlier calls, so only its block reads the tail, and the same block replaces it afterwards.
// Shared memory: [kpool, dim] normalised keys.
__global__ void __launch_bounds__(kThreads) IndexPoolKernel(IndexPoolArgs args, Segments segments) {
  AwaitKernelsBefore();
  extern __shared__ float keys[];
  const IndexSegment segment = segments.at[blockIdx.y];
  if (segment.row_count == 0) return;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Dim dim = args.dim, kpool = args.kpool;
  const Dim begin = args.where.row_position[segment.row_begin], end = begin + segment.row_count;
  const Dim pool = begin / kpool + blockIdx.x, first = pool * kpool;
  if (first >= end) return;

  if (first + kpool <= end) {
    for (Dim j = warp; j < kpool; j += kWarps) {
      if (first + j >= begin) LayerNormRow(args, segment.row_begin + first + j - begin, keys + j * dim);
    }
    __syncthreads();
    const Dim slot = args.where.PoolSlot(args.where.row_sequence[segment.row_begin], pool, kpool);
    for (Dim c = threadIdx.x; c < dim; c += kThreads) {
      const auto key = [&](Dim j) { return first + j >= begin ? keys[j * dim + c] : segment.tail[2 * j * dim + c]; };
      const auto logit = [&](Dim j) {
        const float gate = first + j >= begin ? args.gate[(segment.row_begin + first + j - begin) * dim + c]
                                              : segment.tail[(2 * j + 1) * dim + c];
        return gate + args.ape[j * dim + c];
      };
      float top = logit(0);
      for (Dim j = 1; j < kpool; ++j) top = fmaxf(top, logit(j));
      float sum = 0, mixed = 0;
      for (Dim j = 0; j < kpool; ++j) {
        const float weight = expf(logit(j) - top);
        sum += weight;
        mixed = fmaf(weight, key(j), mixed);
      }
      StoreKvElement(args.pool_keys, args.kv_type, slot * dim + c, mixed / sum);
    }
  }

  if (blockIdx.x != 0) return;
  __syncthreads();  // the tail has been read
  for (Dim position = max(begin, end - kpool) + warp; position < end; position += kWarps) {
    const Dim row = segment.row_begin + position - begin;
    float* entry = segment.tail + position % kpool * 2 * dim;
    LayerNormRow(args, row, entry);
    for (Dim c = threadIdx.x % 32; c < dim; c += 32) entry[dim + c] = args.gate[row * dim + c];
  }
}

}  // namespace

void IndexPool(void* stream, const IndexPoolArgs& args) {
  for (Dim done = 0; done < args.segment_count; done += kMostSegments) {
    const Dim count = std::min<Dim>(kMostSegments, args.segment_count - done);
    Segments segments{};
    Dim most_rows = 0;
    for (Dim s = 0; s < count; ++s) {
      segments.at[s] = args.segments[done + s];
      most_rows = std::max(most_rows, segments.at[s].row_count);
    }
    if (most_rows == 0) continue;
    // The most pools that so many consecutive tokens touch, wherever they begin.
    const Dim pools = (most_rows + args.kpool - 2) / args.kpool + 1;
    const dim3 grid(static_cast<unsigned>(pools), static_cast<unsigned>(count));
    const size_t shared = static_cast<size_t>(args.kpool * args.dim) * sizeof(float);
    LaunchEarly("IndexPool", IndexPoolKernel, grid, kThreads, shared, static_cast<cudaStream_t>(stream), args,
                segments);
  }
}

}  // namespace hearth::kernels::cuda
