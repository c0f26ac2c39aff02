#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/vec4.cuh"
#include "kernels/cuda_ops.h"
#include "kernels/mixer/hc_limits_cuda.h"
#include "kernels/mixer/hc_weights.h"

namespace hearth::kernels::cuda {
namespace {

// Two launches. The first forms the R products with `fn` and the sum of squares, each cut into slices of 1024 values of
// the streams; the second adds the slices of a row in ascending order and does the rest.
//
// A slice is one warp's: lane l takes quads l, l + 32, .. in ascending order, then the lanes are summed as one tree.
// Both kernels below keep this order, so a row has the same bits whichever of them computes it.
constexpr int kSlice = 1024;
constexpr int kQuads = kSlice / 128;  // of one lane

struct Dots {
  const float* streams;  // [rows, width]
  const float* fn;       // [products, width]
  float* partials;       // [rows, slices, products + 1], the sum of squares last
  int rows, width, products, slices;
  bool aligned;

  __device__ float4 Stream(int row, int at) const {
    return Load4(streams + static_cast<int64_t>(row) * width + at, width - at, aligned);
  }
  __device__ float4 Weight(int product, int at) const {
    return Load4(fn + static_cast<int64_t>(product) * width + at, width - at, aligned);
  }
  __device__ float* Partial(int row, int slice, int product) const {
    return partials + (static_cast<int64_t>(row) * slices + slice) * (products + 1) + product;
  }
};

// Few rows: a warp per (slice, product). It holds the weights in registers and walks the rows.
constexpr int kFewRows = 16;
constexpr int kFewWarps = 4;

__global__ void __launch_bounds__(32 * kFewWarps) HcDotsOfFewRows(Dots a) {
  const int lane = threadIdx.x % 32;
  const int unit = blockIdx.x * kFewWarps + threadIdx.x / 32;
  const int slice = unit / (a.products + 1), product = unit % (a.products + 1);
  if (slice >= a.slices) return AwaitKernelsBefore();
  const bool squares = product == a.products;
  const int first = slice * kSlice + 4 * lane;
  float4 w[kQuads];
  if (!squares) {
#pragma unroll
    for (int j = 0; j < kQuads; ++j) w[j] = a.Weight(product, first + 128 * j);
  }
  AwaitKernelsBefore();
  for (int row = 0; row < a.rows; ++row) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      const float4 v = a.Stream(row, first + 128 * j);
      sum = Dot4(v, squares ? v : w[j], sum);
    }
    sum = WarpSum(sum);
    if (lane == 0) *a.Partial(row, slice, product) = sum;
  }
}

// Many rows: a block keeps one slice of 12 rows of `fn` in shared memory; a warp takes 8 rows of the batch at a time.
constexpr int kGroup = 12;
constexpr int kManyWarps = 4;
constexpr int kWarpRows = 8;
constexpr int kPasses = 4;
constexpr int kTileRows = kPasses * kManyWarps * kWarpRows;

__global__ void __launch_bounds__(32 * kManyWarps) HcDotsOfManyRows(Dots a) {
  __shared__ float4 weights[kGroup][kSlice / 4];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_product = blockIdx.x * kGroup, slice = blockIdx.y;
  for (int i = threadIdx.x; i < kGroup * (kSlice / 4); i += 32 * kManyWarps) {
    const int p = i / (kSlice / 4), quad = i % (kSlice / 4);
    const bool exists = first_product + p < a.products;
    weights[p][quad] =
        exists ? a.Weight(first_product + p, slice * kSlice + 4 * quad) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  __syncthreads();

  for (int pass = 0; pass < kPasses; ++pass) {
    const int first_row = (blockIdx.z * kPasses + pass) * kManyWarps * kWarpRows + warp * kWarpRows;
    if (first_row >= a.rows) return;
    float dots[kWarpRows][kGroup], squares[kWarpRows];
#pragma unroll
    for (int r = 0; r < kWarpRows; ++r) {
      squares[r] = 0.0f;
#pragma unroll
      for (int p = 0; p < kGroup; ++p) dots[r][p] = 0.0f;
    }
#pragma unroll 2
    for (int j = 0; j < kQuads; ++j) {
      float4 v[kWarpRows];
#pragma unroll
      for (int r = 0; r < kWarpRows; ++r) {
        const int row = first_row + r < a.rows ? first_row + r : a.rows - 1;
        v[r] = a.Stream(row, slice * kSlice + 128 * j + 4 * lane);
      }
#pragma unroll
      for (int r = 0; r < kWarpRows; ++r) squares[r] = Dot4(v[r], v[r], squares[r]);
#pragma unroll
      for (int p = 0; p < kGroup; ++p) {
        const float4 w = weights[p][32 * j + lane];
#pragma unroll
        for (int r = 0; r < kWarpRows; ++r) dots[r][p] = Dot4(v[r], w, dots[r][p]);
      }
    }
    // 32 sums at a time: 8 rows by 4 products; lane l ends up with row l / 4 and product l % 4.
    const int row = first_row + lane / 4;
#pragma unroll
    for (int four = 0; four < kGroup; four += 4) {
      float sums[32];
#pragma unroll
      for (int i = 0; i < 32; ++i) sums[i] = dots[i / 4][four + i % 4];
      const float sum = WarpSums(sums);
      const int product = first_product + four + lane % 4;
      if (row < a.rows && product < a.products) *a.Partial(row, slice, product) = sum;
    }
    if (blockIdx.x == 0) {
      const float sum = WarpSums(squares);
      if (row < a.rows && lane % 4 == 0) *a.Partial(row, slice, a.products) = sum;
    }
  }
}

// ---- second launch

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__device__ float SumSlices(const Dots& a, int row, int product) {
  float sum = 0.0f;
#pragma unroll 8
  for (int slice = 0; slice < a.slices; ++slice) sum += *a.Partial(row, slice, product);
  return sum;
}
__device__ float InverseRms(const Dots& a, int row, float eps) {
  return 1.0f / sqrtf(SumSlices(a, row, a.products) / static_cast<float>(a.width) + eps);
}

// x of one row by one block. The collapsed vector waits for its norm in `kept`; a thread reads what it wrote itself.
__device__ void Collapse(const HcMixArgs& args, const Dots& a, int row, float* kept) {
  __shared__ float pre[kMaxStreams];
  __shared__ float parts[kWarps];
  const int hc = static_cast<int>(args.hc), hidden = static_cast<int>(args.hidden);
  if (threadIdx.x < hc) {
    const int s = threadIdx.x;
    const float m = SumSlices(a, row, s) * InverseRms(a, row, args.rms_eps);
    pre[s] = DeviceSigmoid(m * args.scale[0] + args.base[s]) + args.hc_eps;
  }
  __syncthreads();
  float* x = args.x + static_cast<int64_t>(row) * hidden;
  if (kept == nullptr) kept = x;
  float squares = 0.0f;
  for (int d = 4 * threadIdx.x; d < hidden; d += 4 * kThreads) {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int s = 0; s < hc; ++s) {
      const float* stream = a.streams + static_cast<int64_t>(row) * a.width + s * hidden;
      sum = Fma4(pre[s], Load4(stream + d, hidden - d, a.aligned), sum);
    }
    Store4(kept + d, hidden - d, a.aligned, sum);
    squares = Dot4(sum, sum, squares);
  }
  const float mean = BlockSum<kThreads>(squares, parts) / static_cast<float>(hidden);
  const float r = 1.0f / sqrtf(mean + args.rms_eps);
  for (int d = 4 * threadIdx.x; d < hidden; d += 4 * kThreads) {
    const float4 v = Load4(kept + d, hidden - d, a.aligned);
    const float4 w = Load4(args.norm_weight + d, hidden - d, a.aligned);
    Store4(x + d, hidden - d, a.aligned, Times4(Scale4(r, v), w));
  }
}

// sum over i of lane (i * stride + offset), ascending, plus eps
__device__ float SumOfLanes(float v, int count, int stride, int offset, float eps) {
  float sum = 0.0f;
  for (int i = 0; i < count; ++i) sum += __shfl_sync(kAllLanes, v, i * stride + offset);
  return sum + eps;
}

// post and comb of one row by one warp; lane hc * i + j has entry (i, j).
template <int kStreams>
__device__ void SpreadWeights(const HcMixArgs& args, const Dots& a, int row) {
  const int hc = kStreams > 0 ? kStreams : static_cast<int>(args.hc);
  const int lane = threadIdx.x % 32, entries = hc * hc;
  const float r = InverseRms(a, row, args.rms_eps);
  if (lane < hc) {
    const float m = SumSlices(a, row, hc + lane) * r;
    args.post[static_cast<int64_t>(row) * hc + lane] = 2.0f * DeviceSigmoid(m * args.scale[1] + args.base[hc + lane]);
  }
  const int i = lane < entries ? lane / hc : 0, j = lane % hc;
  float c = 0.0f;
  if (lane < entries) c = SumSlices(a, row, 2 * hc + lane) * r * args.scale[2] + args.base[2 * hc + lane];
  float top = __shfl_sync(kAllLanes, c, i * hc);
  for (int b = 1; b < hc; ++b) top = fmaxf(top, __shfl_sync(kAllLanes, c, i * hc + b));
  c = expf(c - top);
  const float eps = args.hc_eps;
  c = c / SumOfLanes(c, hc, 1, i * hc, 0.0f) + eps;
  if (args.iterations > 0) c /= SumOfLanes(c, hc, hc, j, eps);
  for (int it = 1; it < args.iterations; ++it) {
    c /= SumOfLanes(c, hc, 1, i * hc, eps);
    c /= SumOfLanes(c, hc, hc, j, eps);
  }
  if (lane < entries) args.comb[static_cast<int64_t>(row) * entries + lane] = c;
}

// More entries than lanes: one lane alone.
__device__ void SpreadWeightsOfManyStreams(const HcMixArgs& args, const Dots& a, int row) {
  if (threadIdx.x % 32 != 0) return;
  const int hc = static_cast<int>(args.hc);
  float m[2 * kMaxStreams + kMaxStreams * kMaxStreams], pre[kMaxStreams];
  const float r = InverseRms(a, row, args.rms_eps);
  for (int k = 0; k < a.products; ++k) m[k] = SumSlices(a, row, k) * r;
  HcWeights(
      HcWeightParams{args.base, args.scale, args.hc, args.hc_eps, args.iterations}, m, [](float z) { return expf(z); },
      pre, args.post + static_cast<int64_t>(row) * hc, args.comb + static_cast<int64_t>(row) * hc * hc);
}

// The first `rows` blocks collapse a row each; the blocks after them have a row per warp for post and comb, whose chain
// of divisions is as long as the work of the others.
template <int kStreams>
__global__ void __launch_bounds__(kThreads) HcFinish(HcMixArgs args, Dots a, bool keep) {
  extern __shared__ float4 kept[];
  AwaitKernelsBefore();
  if (blockIdx.x < a.rows) {
    Collapse(args, a, blockIdx.x, keep ? reinterpret_cast<float*>(kept) : nullptr);
    return;
  }
  const int row = (blockIdx.x - a.rows) * kWarps + threadIdx.x / 32;
  if (row >= a.rows) return;
  if (kStreams > 0 || args.hc * args.hc <= 32) {
    SpreadWeights<kStreams>(args, a, row);
  } else {
    SpreadWeightsOfManyStreams(args, a, row);
  }
}

}  // namespace

void HcMix(void* stream, const HcMixArgs& args) {
  if (args.rows == 0) return;
  CheckStreams(args.hc);
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  Dots a;
  a.streams = args.streams;
  a.fn = args.fn;
  a.rows = static_cast<int>(args.rows);
  a.width = static_cast<int>(args.hc * args.hidden);
  a.products = static_cast<int>(2 * args.hc + args.hc * args.hc);
  a.slices = (a.width + kSlice - 1) / kSlice;
  a.aligned = args.hidden % 4 == 0 && IsAligned16(args.streams) && IsAligned16(args.fn) &&
              IsAligned16(args.norm_weight) && IsAligned16(args.x);
  a.partials = static_cast<float*>(
      Scratch(stream, static_cast<size_t>(args.rows) * a.slices * (a.products + 1) * sizeof(float)));

  if (a.rows <= kFewRows) {
    const int units = a.slices * (a.products + 1);
    LaunchEarly("hc_mix, products", HcDotsOfFewRows, dim3((units + kFewWarps - 1) / kFewWarps), 32 * kFewWarps, 0, on,
                a);
  } else {
    const dim3 grid((a.products + kGroup - 1) / kGroup, a.slices, (a.rows + kTileRows - 1) / kTileRows);
    HcDotsOfManyRows<<<grid, 32 * kManyWarps, 0, on>>>(a);
    LaunchedOrDie("hc_mix, products");
  }

  constexpr Dim kMostKept = 8192;  // floats of shared memory that need no opt-in
  const bool keep = args.hidden <= kMostKept;
  const size_t shared = keep ? static_cast<size_t>(args.hidden + 3) / 4 * 16 : 0;
  const int blocks = a.rows + (a.rows + kWarps - 1) / kWarps;
  LaunchEarly("hc_mix", args.hc == 4 ? HcFinish<4> : HcFinish<0>, dim3(blocks), kThreads, shared, on, args, a, keep);
}

}  // namespace hearth::kernels::cuda
