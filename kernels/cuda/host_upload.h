#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace hearth::kernels::cuda {

// Copies small host arrays to the device without waiting for the stream: through a ring of pinned buffers, so that the
// source may die when the call returns. Waits only for a copy four uploads ago. One stream uses it. A kernel reads the
// pinned buffer: the copy engine would put a few bytes behind gigabytes of staged experts.
class HostUpload {
 public:
  // A pinned buffer to fill.
  void* Begin(size_t bytes);
  // Copies its first `bytes`, a multiple of 4, to the device.
  void End(cudaStream_t stream, void* to, size_t bytes);

 private:
  static constexpr int kSlots = 4;
  struct Slot {
    void* memory = nullptr;
    size_t bytes = 0;
    cudaEvent_t copied = nullptr;
  };
  Slot slots_[kSlots];
  int current_ = 0;
};

}  // namespace hearth::kernels::cuda
