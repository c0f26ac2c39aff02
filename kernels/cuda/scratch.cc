#include "kernels/cuda/scratch.h"

#include "kernels/cuda/cuda_check.h"

namespace hearth::kernels::cuda {
namespace {

struct Block {
  void* data = nullptr;
  size_t bytes = 0;
};

Block& TheBlock() {
  static Block block;  // never freed: the driver may be gone when static objects end
  return block;
}

}  // namespace

void* Scratch(size_t bytes) {
  Block& block = TheBlock();
  if (bytes > block.bytes) {
    // Freeing waits for the launches that still use the old block.
    CudaOrDie(cudaFree(block.data), "cudaFree of scratch");
    block = {};
    CudaOrDie(cudaMalloc(&block.data, bytes), "cudaMalloc of scratch");
    block.bytes = bytes;
  }
  return block.data;
}

size_t ScratchBytes() { return TheBlock().bytes; }

}  // namespace hearth::kernels::cuda
