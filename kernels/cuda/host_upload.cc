#include "kernels/cuda/host_upload.h"

#include "kernels/cuda/cuda_check.h"

namespace hearth::kernels::cuda {

void* HostUpload::Begin(size_t bytes) {
  current_ = (current_ + 1) % kSlots;
  Slot& slot = slots_[current_];
  if (slot.copied == nullptr) {
    CudaOrDie(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming), "cudaEventCreate");
  }
  CudaOrDie(cudaEventSynchronize(slot.copied), "cudaEventSynchronize");  // done at once for a new event
  if (bytes > slot.bytes) {
    if (slot.memory != nullptr) CudaOrDie(cudaFreeHost(slot.memory), "cudaFreeHost");
    CudaOrDie(cudaHostAlloc(&slot.memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    slot.bytes = bytes;
  }
  return slot.memory;
}

void HostUpload::End(cudaStream_t stream, void* to, size_t bytes) {
  Slot& slot = slots_[current_];
  CudaOrDie(cudaMemcpyAsync(to, slot.memory, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  CudaOrDie(cudaEventRecord(slot.copied, stream), "cudaEventRecord");
}

}  // namespace hearth::kernels::cuda
