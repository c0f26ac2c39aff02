#include "kernels/cuda/host_upload.h"

#include <cstdint>

#include "kernels/cuda/cuda_check.h"

namespace hearth::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

__global__ void CopyWords(uint32_t* to, const uint32_t* from, unsigned words) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < words) to[i] = from[i];
}

}  // namespace

void* HostUpload::Begin(size_t bytes) {
  current_ = (current_ + 1) % kSlots;
  Slot& slot = slots_[current_];
  if (slot.copied == nullptr) {
    CudaOrDie(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming), "cudaEventCreate");
  }
  CudaOrDie(cudaEventSynchronize(slot.copied), "cudaEventSynchronize");  // done at once for a new event
  if (bytes > slot.bytes) {
    if (slot.memory != nullptr) CudaOrDie(cudaFreeHost(slot.memory), "cudaFreeHost");
    CudaOrDie(cudaHostAlloc(&slot.memory, bytes, cudaHostAllocMapped), "cudaHostAlloc");
    slot.bytes = bytes;
  }
  return slot.memory;
}

void HostUpload::End(cudaStream_t stream, void* to, size_t bytes) {
  Slot& slot = slots_[current_];
  const auto words = static_cast<unsigned>(bytes / sizeof(uint32_t));
  if (words > 0) {
    CopyWords<<<(words + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        static_cast<uint32_t*>(to), static_cast<const uint32_t*>(slot.memory), words);
    LaunchedOrDie("CopyWords");
  }
  CudaOrDie(cudaEventRecord(slot.copied, stream), "cudaEventRecord");
}

}  // namespace hearth::kernels::cuda
