#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/copy_pieces.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"

namespace hearth::kernels::cuda {
namespace {

constexpr int kMostPieces = 64;  // of one launch; they travel as its argument
constexpr unsigned kThreads = 256;
// Per piece. More threads than one block has: a thread's reads of host memory are a round trip across the bus each.
constexpr unsigned kMostBlocks = 8;

struct Pieces {
  CopyPiece piece[kMostPieces];
};

template <typename Word>
__device__ void CopyWords(const CopyPiece& p, size_t first, size_t step) {
  const size_t words = p.bytes / sizeof(Word);
  for (size_t i = first; i < words; i += step) static_cast<Word*>(p.to)[i] = static_cast<const Word*>(p.from)[i];
}

__global__ void CopyEach(const __grid_constant__ Pieces pieces) {
  AwaitKernelsBefore();
  const CopyPiece& p = pieces.piece[blockIdx.y];
  const size_t first = blockIdx.x * kThreads + threadIdx.x, step = size_t{gridDim.x} * kThreads;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(p.to) | reinterpret_cast<uintptr_t>(p.from) | p.bytes;
  if (bits % sizeof(uint4) == 0) {
    CopyWords<uint4>(p, first, step);
  } else {
    CopyWords<uint32_t>(p, first, step);
  }
}

}  // namespace

void CopyPieces(void* stream, const CopyPiece* pieces, int count) {
  for (int done = 0; done < count; done += kMostPieces) {
    Pieces some;
    const int n = std::min(kMostPieces, count - done);
    size_t most = 0;
    for (int i = 0; i < n; ++i) {
      some.piece[i] = pieces[done + i];
      most = std::max(most, some.piece[i].bytes);
    }
    if (most == 0) continue;
    const auto blocks = static_cast<unsigned>((most / sizeof(uint4) + kThreads - 1) / kThreads);
    const dim3 grid(std::clamp(blocks, 1u, kMostBlocks), static_cast<unsigned>(n));
    LaunchEarly("CopyEach", CopyEach, grid, kThreads, 0, static_cast<cudaStream_t>(stream), some);
  }
}

}  // namespace hearth::kernels::cuda
