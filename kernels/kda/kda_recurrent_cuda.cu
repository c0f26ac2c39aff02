#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec4.cuh"
#include "kernels/cuda_ops.h"
#include "kernels/kda/kda_segments.cuh"

namespace hearth::kernels::cuda {
namespace {

// A block has 32 value columns of one head: 8 quads of columns by 32 groups of key channels. The state lives in
// registers from the first row to the last, so it is read and written once. A sum over key channels goes over a
// thread's channels in ascending order, over the four groups of a warp as a tree, and over warps in ascending order.
constexpr int kThreads = 256;
constexpr int kColumns = 32;
constexpr int kQuads = kColumns / 4;
constexpr int kGroups = kThreads / kQuads;
constexpr int kWarps = kThreads / 32;

// What every warp contributes to the sums of one row.
struct WarpParts {
  float4 read[kWarps][kQuads];   // k . S
  float4 asked[kWarps][kQuads];  // q . S
  float both[kWarps];            // q . k
};

__device__ float SumOfGroups(float v) {
  v += __shfl_xor_sync(kAllLanes, v, 16);
  return v + __shfl_xor_sync(kAllLanes, v, 8);
}
__device__ float4 SumOfGroups4(float4 v) {
  return make_float4(SumOfGroups(v.x), SumOfGroups(v.y), SumOfGroups(v.z), SumOfGroups(v.w));
}
__device__ float& Part(float4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

// kKeys, a multiple of 4: key channels of one thread.
template <int kKeys>
__global__ void __launch_bounds__(kThreads)
    KdaRecurrentKernel(const __grid_constant__ KdaSegmentList segments, KdaRuleArgs args, bool aligned) {
  AwaitKernelsBefore();
  __shared__ WarpParts parts[2];  // by parity of the row: one barrier a row is enough
  const KdaSegment& segment = segments.at[blockIdx.z];
  const int dim = static_cast<int>(args.dim), head = blockIdx.y;
  const int quad = threadIdx.x % kQuads, warp = threadIdx.x / 32;
  const int column = blockIdx.x * kColumns + 4 * quad, columns = dim - column;
  const int first = threadIdx.x / kQuads * kKeys;  // key channel
  const Dim width = args.heads * args.dim;

  float* state = segment.state + (static_cast<Dim>(head) * dim + first) * dim + column;
  float4 s[kKeys];
#pragma unroll
  for (int i = 0; i < kKeys; ++i) {
    s[i] = Load4(state + static_cast<Dim>(i) * dim, first + i < dim ? columns : 0, aligned);
  }

  for (Dim t = 0; t < segment.row_count; ++t) {
    const Dim row = segment.row_begin + t;
    const float* q = args.qkv + row * 3 * width + static_cast<Dim>(head) * dim;
    const float* k = q + width;
    const float* g = args.g + row * width + static_cast<Dim>(head) * dim;
    const float4 v = Load4(k + width + column, columns, aligned);
    const float beta = args.beta[row * args.heads + head];

    float keys[kKeys];
    float4 read = make_float4(0.0f, 0.0f, 0.0f, 0.0f), asked = read;
    float both = 0.0f;
#pragma unroll
    for (int four = 0; four < kKeys; four += 4) {
      const int c = first + four;
      float4 q4 = Load4(q + c, dim - c, aligned), k4 = Load4(k + c, dim - c, aligned);
      float4 g4 = Load4(g + c, dim - c, aligned);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float key = Part(k4, i), query = Part(q4, i);
        float4& cell = s[four + i];
        cell = Scale4(expf(Part(g4, i)), cell);
        read = Fma4(key, cell, read);
        asked = Fma4(query, cell, asked);
        both = fmaf(query, key, both);
        keys[four + i] = key;
      }
    }
    read = SumOfGroups4(read);
    asked = SumOfGroups4(asked);
    both = SumOfGroups(both);
    WarpParts& mine = parts[t % 2];
    if (threadIdx.x % 32 < kQuads) {
      mine.read[warp][quad] = read;
      mine.asked[warp][quad] = asked;
      if (quad == 0) mine.both[warp] = both;
    }
    __syncthreads();
    read = mine.read[0][quad];
    asked = mine.asked[0][quad];
    both = mine.both[0];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) {
      read = Add4(read, mine.read[w][quad]);
      asked = Add4(asked, mine.asked[w][quad]);
      both += mine.both[w];
    }
    const float4 u =
        make_float4(beta * (v.x - read.x), beta * (v.y - read.y), beta * (v.z - read.z), beta * (v.w - read.w));
#pragma unroll
    for (int i = 0; i < kKeys; ++i) s[i] = Fma4(keys[i], u, s[i]);
    // q . (S + k u) without a second reduction
    if (threadIdx.x < kQuads) {
      Store4(args.o + row * width + static_cast<Dim>(head) * dim + column, columns, aligned, Fma4(both, u, asked));
    }
  }

#pragma unroll
  for (int i = 0; i < kKeys; ++i) {
    Store4(state + static_cast<Dim>(i) * dim, first + i < dim ? columns : 0, aligned, s[i]);
  }
}

}  // namespace

void KdaRecurrent(void* stream, const KdaRuleArgs& args) {
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  bool aligned = args.dim % 4 == 0 && IsAligned16(args.qkv) && IsAligned16(args.g) && IsAligned16(args.o);
  for (Dim i = 0; i < args.segment_count; ++i) aligned = aligned && IsAligned16(args.segments[i].state);
  const unsigned panels = static_cast<unsigned>((args.dim + kColumns - 1) / kColumns);
  if (args.dim > 16 * kGroups) {
    DieOfCuda(cudaErrorInvalidValue, "kda_recurrent: head_dim is above 512, the most that the CUDA kernel takes");
  }
  ForSegmentLists(args.segments, args.segment_count, [&](const KdaSegmentList& list, int count, Dim) {
    const dim3 grid(panels, static_cast<unsigned>(args.heads), count);
    const auto kernel = args.dim <= 4 * kGroups   ? KdaRecurrentKernel<4>
                        : args.dim <= 8 * kGroups ? KdaRecurrentKernel<8>
                                                  : KdaRecurrentKernel<16>;
    LaunchEarly("kda_recurrent", kernel, grid, kThreads, 0, on, list, args, aligned);
  });
}

}  // namespace hearth::kernels::cuda
