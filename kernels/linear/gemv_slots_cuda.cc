#include "kernels/linear/gemv_slots_cuda.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/multiprocessors.h"

namespace hearth::kernels::cuda {

int BlockSlots::Of(const void* kernel, int threads, int shared_bytes) {
  static std::mutex mutex;  // streams may have threads of their own
  const std::lock_guard lock(mutex);
  int& slots = known_[shared_bytes];
  if (slots == 0) {
    int blocks = 0;
    CudaOrDie(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, static_cast<size_t>(shared_bytes)),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    slots = std::max(1, blocks) * Multiprocessors();
  }
  return slots;
}

}  // namespace hearth::kernels::cuda
