#include "kernels/cuda/scratch.h"

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/per_stream.h"

namespace hearth::kernels::cuda {
namespace {

struct Block {
  void* data = nullptr;
  size_t bytes = 0;
};

PerStream<Block>& Blocks() {
  static auto* blocks = new PerStream<Block>;  // never freed: the driver may be gone when static objects end
  return *blocks;
}

}  // namespace

void* Scratch(void* stream, size_t bytes) {
  Block& block = Blocks().of(stream);
  if (bytes > block.bytes) {
    // Freeing waits for the launches that still use the old block.
    CudaOrDie(cudaFree(block.data), "cudaFree of scratch");
    block = {};
    CudaOrDie(cudaMalloc(&block.data, bytes), "cudaMalloc of scratch");
    block.bytes = bytes;
  }
  return block.data;
}

size_t ScratchBytes() {
  size_t bytes = 0;
  Blocks().ForEach([&bytes](const Block& block) { bytes += block.bytes; });
  return bytes;
}

}  // namespace hearth::kernels::cuda
