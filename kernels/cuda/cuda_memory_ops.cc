#include "kernels/cuda/cuda_memory_ops.h"

#include "kernels/cuda/cuda_check.h"

namespace hearth::kernels {
namespace {

cudaStream_t Stream(void* stream) { return static_cast<cudaStream_t>(stream); }

// Running out of memory is the caller's to report; the error must not stay behind for the next launch check.
void* OrNull(cudaError_t error, void* memory, const char* what) {
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  CudaOrDie(error, what);
  return memory;
}

void* Allocate(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
  return OrNull(error, memory, "cudaMalloc");
}
void Release(void* memory) { CudaOrDie(cudaFree(memory), "cudaFree"); }
void* AllocateHost(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaHostAlloc(&memory, bytes > 0 ? bytes : 1, cudaHostAllocDefault);
  return OrNull(error, memory, "cudaHostAlloc");
}
void ReleaseHost(void* memory) { CudaOrDie(cudaFreeHost(memory), "cudaFreeHost"); }

void Zero(void* stream, void* to, size_t bytes) {
  if (bytes > 0) CudaOrDie(cudaMemsetAsync(to, 0, bytes, Stream(stream)), "cudaMemsetAsync");
}
void Transfer(void* stream, void* to, const void* from, size_t bytes) {
  if (bytes > 0) CudaOrDie(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, Stream(stream)), "cudaMemcpyAsync");
}
void Synchronize(void* stream) { CudaOrDie(cudaStreamSynchronize(Stream(stream)), "cudaStreamSynchronize"); }

}  // namespace

const MemoryOps& CudaMemoryOps() {
  static const MemoryOps ops{.is_host = false,
                             .allocate = Allocate,
                             .release = Release,
                             .allocate_host = AllocateHost,
                             .release_host = ReleaseHost,
                             .zero = Zero,
                             .copy = Transfer,
                             .upload = Transfer,
                             .download = Transfer,
                             .synchronize = Synchronize};
  return ops;
}

}  // namespace hearth::kernels
