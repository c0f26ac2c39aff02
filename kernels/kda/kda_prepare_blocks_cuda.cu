#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec4.cuh"
#include "kernels/kda/kda_block.cuh"

namespace hearth::kernels::cuda {
namespace {

using namespace kda_block;

// One block of threads per 64 tokens of one head. Tokens are taken 16 at a time. No exponent is ever positive: sums of
// g are formed from the nearer end, and keys are carried along with the decay up to the 16 tokens at hand.
constexpr int kThreads = 256;
constexpr int kPart = 16;
constexpr int kStride = kChannels + 4;  // rows of 128 start in different banks
constexpr int kLowerStride = kTokens + 4;

struct Shared {
  float k[kPart][kStride], q[kPart][kStride], g[kPart][kStride];
  float k_local[kPart][kStride], q_local[kPart][kStride];  // times e^{sum of g from the first of the 16 tokens}
  float carried[kTokens][kStride];
  float lower[kTokens][kLowerStride];  // [s][t]: beta_t sum_c k_t k_s e^{G_t - G_s}, defined for s < t
  float beta[kTokens];
};

__device__ float4& At(float* p) { return *reinterpret_cast<float4*>(p); }
__device__ float4 Exp4(float4 v) { return make_float4(expf(v.x), expf(v.y), expf(v.z), expf(v.w)); }

struct Source {
  const float *q, *g;  // first token and channel of the head
  Dim q_stride, g_stride, width;
  int rows, dim;
  bool aligned;
};

__device__ void LoadPart(const Source& from, int at, Shared& sh) {
  for (int i = threadIdx.x; i < kPart * kChannels / 4; i += kThreads) {
    const int t = i / (kChannels / 4), c = 4 * (i % (kChannels / 4));
    const int left = at + t < from.rows ? from.dim - c : 0;
    const float* q = from.q + (at + t) * from.q_stride + c;
    At(&sh.q[t][c]) = Load4(q, left, from.aligned);
    At(&sh.k[t][c]) = Load4(q + from.width, left, from.aligned);
    At(&sh.g[t][c]) = Load4(from.g + (at + t) * from.g_stride + c, left, from.aligned);
  }
}

// A thread has one channel of k or of q. Returns the decay over the 16 tokens.
__device__ float DecayPart(Shared& sh, int at, float before, float* block) {
  const int c = threadIdx.x % kChannels;
  const bool keys = threadIdx.x < kChannels;
  const float(*from)[kStride] = keys ? sh.k : sh.q;
  float(*local)[kStride] = keys ? sh.k_local : sh.q_local;
  float* decayed = block + (keys ? kKDecayed : kQDecayed) + at * kChannels + c;
  float sum = 0.0f, e = 1.0f;
#pragma unroll
  for (int t = 0; t < kPart; ++t) {
    sum += sh.g[t][c];
    e = expf(sum);
    const float value = from[t][c] * e;
    local[t][c] = value;
    decayed[t * kChannels] = before * value;
  }
  return e;
}

// Entries of the 16 tokens against all tokens before them: a plain product. A thread has one token of the 16 and every
// 16th of the earlier ones.
__device__ void EarlierColumns(Shared& sh, int at, float* block) {
  const int t = threadIdx.x / kPart, first = threadIdx.x % kPart, parts = at / kPart;
  float by_k[3] = {0.0f, 0.0f, 0.0f}, by_q[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll 4
  for (int c = 0; c < kChannels; c += 4) {
    const float4 k = At(&sh.k_local[t][c]), q = At(&sh.q_local[t][c]);
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      if (j >= parts) continue;
      const float4 key = At(&sh.carried[first + kPart * j][c]);
      by_k[j] = Dot4(k, key, by_k[j]);
      by_q[j] = Dot4(q, key, by_q[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    if (j >= parts) continue;
    const int s = first + kPart * j;
    sh.lower[s][at + t] = sh.beta[at + t] * by_k[j];
    block[kAttend + (at + t) * kTokens + s] = by_q[j];
  }
}

// Entries of the 16 tokens among themselves. A warp has two of the columns s; a lane four channels, then one entry.
__device__ void DiagonalColumns(Shared& sh, int at, float* block) {
  const int lane = threadIdx.x % 32, c = 4 * lane;
  for (int s = threadIdx.x / 32; s < kPart; s += kThreads / 32) {
    float sums[2 * kPart];
    const float4 key = At(&sh.k[s][c]);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f), decayed = key;
#pragma unroll
    for (int t = 0; t < kPart; ++t) {
      sums[t] = sums[kPart + t] = 0.0f;
      if (t < s) continue;
      if (t > s) {
        sum = Add4(sum, At(&sh.g[t][c]));
        decayed = Times4(key, Exp4(sum));
      }
      sums[t] = Dot4(At(&sh.k[t][c]), decayed, 0.0f);
      sums[kPart + t] = Dot4(At(&sh.q[t][c]), decayed, 0.0f);
    }
    const float entry = WarpSums(sums);
    const int t = lane % kPart;
    if (lane < kPart) {
      sh.lower[at + s][at + t] = t > s ? sh.beta[at + t] * entry : 0.0f;
    } else {
      block[kAttend + (at + t) * kTokens + at + s] = t >= s ? entry : 0.0f;
    }
  }
}

// Decays the carried keys past the 16 tokens and adds these. A thread has one channel of every other token.
__device__ void CarryKeys(Shared& sh, int at, float step) {
  const int c = threadIdx.x % kChannels, half = threadIdx.x / kChannels;
#pragma unroll 4
  for (int s = half; s < at; s += 2) sh.carried[s][c] *= step;
  float sum = 0.0f;
#pragma unroll
  for (int s = kPart - 1; s >= 0; --s) {
    if (s % 2 == half) sh.carried[at + s][c] = sh.k[s][c] * expf(sum);
    sum += sh.g[s][c];
  }
}

// Column s of T by one thread: forward substitution, entry after entry subtracted from all those below it.
__device__ void SolveColumn(Shared& sh, int s, float* solve) {
  float x[kTokens];
#pragma unroll
  for (int t = 0; t < kTokens; ++t) x[t] = t == s ? 1.0f : 0.0f;
#pragma unroll
  for (int r = 0; r + 1 < kTokens; ++r) {
#pragma unroll
    for (int four = (r + 1) / 4 * 4; four < kTokens; four += 4) {
      const float4 lower = At(&sh.lower[r][four]);
      if (four + 0 > r) x[four + 0] = fmaf(-lower.x, x[r], x[four + 0]);
      if (four + 1 > r) x[four + 1] = fmaf(-lower.y, x[r], x[four + 1]);
      if (four + 2 > r) x[four + 2] = fmaf(-lower.z, x[r], x[four + 2]);
      if (four + 3 > r) x[four + 3] = fmaf(-lower.w, x[r], x[four + 3]);
    }
  }
#pragma unroll
  for (int t = 0; t < kTokens; ++t) solve[t * kTokens + s] = x[t] * sh.beta[s];
}

__global__ void __launch_bounds__(kThreads, 2)
    PrepareKernel(const __grid_constant__ KdaRuns runs, KdaRuleArgs args, bool aligned, float* blocks) {
  extern __shared__ float4 shared_memory[];
  Shared& sh = *reinterpret_cast<Shared*>(shared_memory);
  const int head = blockIdx.x, slot = blockIdx.y;
  int r = 0;
  while (slot >= runs.at[r].slot + runs.at[r].blocks) ++r;
  const KdaRun& run = runs.at[r];
  const int rows = run.BlockRows(slot - run.slot);
  const Dim row = run.row + run.BlockBegin(slot - run.slot), width = args.heads * args.dim;
  float* block = blocks + (static_cast<Dim>(slot) * args.heads + head) * kFloats;
  Source from;
  from.q = args.qkv + row * 3 * width + head * args.dim;
  from.g = args.g + row * width + head * args.dim;
  from.q_stride = 3 * width;
  from.g_stride = from.width = width;
  from.rows = rows;
  from.dim = static_cast<int>(args.dim);
  from.aligned = aligned;

  if (threadIdx.x < kTokens) {
    const int t = threadIdx.x;
    sh.beta[t] = t < rows ? args.beta[(row + t) * args.heads + head] : 0.0f;
  }
  float before = 1.0f;  // decay of this thread's channel up to the 16 tokens at hand
#pragma unroll 1
  for (int at = 0; at < kTokens; at += kPart) {
    LoadPart(from, at, sh);
    __syncthreads();
    const float step = DecayPart(sh, at, before, block);
    __syncthreads();
    EarlierColumns(sh, at, block);
    DiagonalColumns(sh, at, block);
    __syncthreads();
    CarryKeys(sh, at, step);
    before *= step;
    __syncthreads();
  }

  if (threadIdx.x < kTokens) {
    SolveColumn(sh, threadIdx.x, block + kSolve);
  } else {
    for (int i = threadIdx.x - kTokens; i < kTokens * kChannels / 4; i += kThreads - kTokens) {
      const int s = i / (kChannels / 4), c = 4 * (i % (kChannels / 4));
      At(block + kKCarried + s * kChannels + c) = At(&sh.carried[s][c]);
    }
  }
  if (threadIdx.x >= kThreads - kChannels) block[kDecay + threadIdx.x % kChannels] = before;
}

}  // namespace

void PrepareKdaBlocks(cudaStream_t stream, const KdaRuns& runs, const KdaRuleArgs& args, bool aligned, float* blocks) {
  static const bool ready = [] {
    CudaOrDie(cudaFuncSetAttribute(PrepareKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
              "shared memory of kda_chunked");
    return true;
  }();
  static_cast<void>(ready);
  const dim3 grid(static_cast<unsigned>(args.heads), static_cast<unsigned>(runs.slots));
  PrepareKernel<<<grid, kThreads, sizeof(Shared), stream>>>(runs, args, aligned, blocks);
  LaunchedOrDie("kda_chunked, blocks");
}

}  // namespace hearth::kernels::cuda
