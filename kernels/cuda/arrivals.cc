#include "kernels/cuda/arrivals.h"

#include <algorithm>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/per_stream.h"

namespace hearth::kernels::cuda {

namespace {

struct Set {
  uint32_t* counters = nullptr;
  int64_t size = 0;
};

}  // namespace

uint32_t* Arrivals(void* stream, int64_t count) {
  static auto* sets = new PerStream<Set>;  // never freed: the driver may be gone when static objects end
  auto& [counters, size] = sets->of(stream);
  if (count > size) {
    CudaOrDie(cudaFree(counters), "cudaFree of counters");  // waits for their users
    size = std::max<int64_t>(count, 4096);
    void* memory = nullptr;
    CudaOrDie(cudaMalloc(&memory, static_cast<size_t>(size) * sizeof(uint32_t)), "cudaMalloc of counters");
    counters = static_cast<uint32_t*>(memory);
    CudaOrDie(
        cudaMemsetAsync(counters, 0, static_cast<size_t>(size) * sizeof(uint32_t), static_cast<cudaStream_t>(stream)),
        "cudaMemsetAsync of counters");
  }
  return counters;
}

}  // namespace hearth::kernels::cuda
