#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/vec4.cuh"
#include "kernels/kda/kda_block.cuh"

namespace hearth::kernels::cuda {
namespace {

using namespace kda_block;

// A block of threads carries 64 value columns of one head's state, in shared memory, over the blocks of a run:
//   R = V - Kd S,  U = T beta R,  O = Qd S + attend U,  S = e^{G_end} S + Kc^T U
// Every product is a chain of fused multiply-adds in ascending order. The operands of the next step are copied while a
// step computes.
constexpr int kThreads = 256;
constexpr int kColumns = 64;
constexpr int kStride = kChannels + 4;  // consecutive rows start in different banks
constexpr int kSquareStride = kTokens + 4;

// Just below the 99 KiB that a block may have on GPUs of compute capability 8.6.
struct Shared {
  float state[kChannels][kColumns];
  float wide[kTokens][kStride];          // Kd, Qd, Kc in turn
  float square[kTokens][kSquareStride];  // T beta, attend in turn
  float rows[kTokens][kColumns];         // R, then U
};
static_assert(sizeof(Shared) <= 99 * 1024);

__device__ float4& At(float* p) { return *reinterpret_cast<float4*>(p); }

__device__ void CopyWide(Shared& sh, const float* from) {
#pragma unroll
  for (int n = 0; n < kTokens * kChannels / 4 / kThreads; ++n) {
    const int i = n * kThreads + threadIdx.x, t = i / (kChannels / 4), c = 4 * (i % (kChannels / 4));
    AsyncCopy16(&sh.wide[t][c], from + t * kChannels + c);
  }
  AsyncCommit();
}
__device__ void CopySquare(Shared& sh, const float* from) {
#pragma unroll
  for (int n = 0; n < kTokens * kTokens / 4 / kThreads; ++n) {
    const int i = n * kThreads + threadIdx.x, t = i / (kTokens / 4), s = 4 * (i % (kTokens / 4));
    AsyncCopy16(&sh.square[t][s], from + t * kTokens + s);
  }
  AsyncCommit();
}

// A thread's tile of [64 tokens, 64 columns]: tokens t, t + 16, t + 32, t + 48 by 4 columns. A warp has 4 consecutive t
// and 8 quads of columns, so that its reads of either operand hit different banks.
struct Tile {
  float4 row[4];

  __device__ void Clear() {
#pragma unroll
    for (float4& r : row) r = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  // += left[t][k .. k + 4) right[k .. k + 4), for tokens from the kFirst-th of the tile on
  template <int kFirst, int kLeftStride>
  __device__ void AddFour(const float (*left)[kLeftStride], const float (*right)[kColumns], int t, int column, int k) {
    float4 b[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) b[e] = *reinterpret_cast<const float4*>(&right[k + e][column]);
#pragma unroll
    for (int i = kFirst; i < 4; ++i) {
      const float4 a = *reinterpret_cast<const float4*>(&left[t + 16 * i][k]);
      row[i] = Fma4(a.w, b[3], Fma4(a.z, b[2], Fma4(a.y, b[1], Fma4(a.x, b[0], row[i]))));
    }
  }
  __device__ void AddWide(const Shared& sh, int t, int column) {
#pragma unroll 4
    for (int k = 0; k < kChannels; k += 4) AddFour<0>(sh.wide, sh.state, t, column, k);
  }
  // Tokens see the tokens of their own 16 and of those before.
  template <int kFirst>
  __device__ void AddSquarePart(const Shared& sh, int t, int column) {
#pragma unroll
    for (int k = 16 * kFirst; k < 16 * kFirst + 16; k += 4) AddFour<kFirst>(sh.square, sh.rows, t, column, k);
  }
  __device__ void AddSquare(const Shared& sh, int t, int column) {
    AddSquarePart<0>(sh, t, column);
    AddSquarePart<1>(sh, t, column);
    AddSquarePart<2>(sh, t, column);
    AddSquarePart<3>(sh, t, column);
  }
};

// Key channels 4 t .. 4 t + 3 and those 64 above, by 4 columns.
__device__ void AdvanceState(Shared& sh, int t, int column, const float4 (&decay)[2]) {
  float4 s[8];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int c = 4 * t + 64 * half;
    s[4 * half + 0] = Scale4(decay[half].x, At(&sh.state[c + 0][column]));
    s[4 * half + 1] = Scale4(decay[half].y, At(&sh.state[c + 1][column]));
    s[4 * half + 2] = Scale4(decay[half].z, At(&sh.state[c + 2][column]));
    s[4 * half + 3] = Scale4(decay[half].w, At(&sh.state[c + 3][column]));
  }
#pragma unroll 4
  for (int token = 0; token < kTokens; ++token) {
    const float4 u = At(&sh.rows[token][column]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float4 k = At(&sh.wide[token][4 * t + 64 * half]);
      s[4 * half + 0] = Fma4(k.x, u, s[4 * half + 0]);
      s[4 * half + 1] = Fma4(k.y, u, s[4 * half + 1]);
      s[4 * half + 2] = Fma4(k.z, u, s[4 * half + 2]);
      s[4 * half + 3] = Fma4(k.w, u, s[4 * half + 3]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) At(&sh.state[4 * t + 64 * (i / 4) + i % 4][column]) = s[i];
}

__global__ void __launch_bounds__(kThreads, 1)
    AdvanceKernel(const __grid_constant__ KdaRuns runs, KdaRuleArgs args, bool aligned, const float* blocks) {
  extern __shared__ float4 shared_memory[];
  Shared& sh = *reinterpret_cast<Shared*>(shared_memory);
  const KdaRun& run = runs.at[blockIdx.z];
  const int head = blockIdx.y, dim = static_cast<int>(args.dim);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int column = 4 * (warp % 2 * 8 + lane % 8), t = warp / 2 * 4 + lane / 8;
  const int first_column = blockIdx.x * kColumns + column;  // within the head
  const int columns = dim - first_column;
  const Dim width = args.heads * args.dim, head_column = static_cast<Dim>(head) * dim + first_column;
  float* state = run.state + static_cast<Dim>(head) * dim * dim + first_column;
  const float* block = blocks + (static_cast<Dim>(run.slot) * args.heads + head) * kFloats;
  const Dim block_step = args.heads * kFloats;

  CopyWide(sh, block + kKDecayed);
  CopySquare(sh, block + kSolve);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int c = 4 * t + 64 * (i / 4) + i % 4;
    At(&sh.state[c][column]) = Load4(state + static_cast<Dim>(c) * dim, c < dim ? columns : 0, aligned);
  }

  for (int n = 0; n < run.blocks; ++n, block += block_step) {
    const Dim row = run.row + run.BlockBegin(n);
    const int rows = run.BlockRows(n);
    const float* next = n + 1 < run.blocks ? block + block_step : nullptr;
    const float* v = args.qkv + row * 3 * width + 2 * width + head_column;
    float4 values[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int token = t + 16 * i;
      values[i] = Load4(v + token * 3 * width, token < rows ? columns : 0, aligned);
    }
    AsyncWait<0>();
    __syncthreads();  // Kd, T beta and the state are there

    Tile tile;
    tile.Clear();
    tile.AddWide(sh, t, column);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      At(&sh.rows[t + 16 * i][column]) = make_float4(values[i].x - tile.row[i].x, values[i].y - tile.row[i].y,
                                                     values[i].z - tile.row[i].z, values[i].w - tile.row[i].w);
    }
    __syncthreads();  // R is there, Kd is done with
    CopyWide(sh, block + kQDecayed);

    tile.Clear();
    tile.AddSquare(sh, t, column);
    __syncthreads();  // R and T beta are done with
#pragma unroll
    for (int i = 0; i < 4; ++i) At(&sh.rows[t + 16 * i][column]) = tile.row[i];
    CopySquare(sh, block + kAttend);
    AsyncWait<1>();
    __syncthreads();  // U and Qd are there

    tile.Clear();
    tile.AddWide(sh, t, column);
    AsyncWait<0>();
    __syncthreads();  // attend is there, Qd is done with
    CopyWide(sh, block + kKCarried);
    const float4 decay[2] = {*reinterpret_cast<const float4*>(block + kDecay + 4 * t),
                             *reinterpret_cast<const float4*>(block + kDecay + 64 + 4 * t)};

    tile.AddSquare(sh, t, column);
    float* o = args.o + row * width + head_column;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int token = t + 16 * i;
      Store4(o + token * width, token < rows ? columns : 0, aligned, tile.row[i]);
    }
    AsyncWait<0>();
    __syncthreads();  // Kc is there, attend and the old state are done with
    if (next != nullptr) CopySquare(sh, next + kSolve);

    AdvanceState(sh, t, column, decay);
    __syncthreads();  // Kc and U are done with
    if (next != nullptr) CopyWide(sh, next + kKDecayed);
  }

#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int c = 4 * t + 64 * (i / 4) + i % 4;
    Store4(state + static_cast<Dim>(c) * dim, c < dim ? columns : 0, aligned, At(&sh.state[c][column]));
  }
}

}  // namespace

void AdvanceKdaStates(cudaStream_t stream, const KdaRuns& runs, const KdaRuleArgs& args, bool aligned,
                      const float* blocks) {
  static const bool ready = [] {
    CudaOrDie(cudaFuncSetAttribute(AdvanceKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
              "shared memory of kda_chunked");
    return true;
  }();
  static_cast<void>(ready);
  const dim3 grid(static_cast<unsigned>((args.dim + kColumns - 1) / kColumns), static_cast<unsigned>(args.heads),
                  static_cast<unsigned>(runs.count));
  AdvanceKernel<<<grid, kThreads, sizeof(Shared), stream>>>(runs, args, aligned, blocks);
  LaunchedOrDie("kda_chunked, states");
}

}  // namespace hearth::kernels::cuda
