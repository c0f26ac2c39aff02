#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda_backend.h"
#include "kernels/device_array.h"

namespace hearth::bench {

// How the benchmarks of the graph's ops time a GPU: median of 25 calls between CUDA events, inputs that rotate through
// copies which together exceed the cache, as consecutive layers do.

using kernels::Dim;

constexpr int kRepeats = 25;

inline cudaStream_t Stream() { return static_cast<cudaStream_t>(kernels::CudaBackend().stream); }

// `count` numbers made by make(i), in as many copies as exceed the cache (one when a copy does so alone).
template <typename T>
class Values {
 public:
  Values(Dim count, const std::function<T(Dim)>& make)
      : count_((count + 63) / 64 * 64), array_(kernels::CudaBackend()) {
    constexpr size_t kRotated = size_t{256} << 20;
    copies_ = std::clamp<Dim>(static_cast<Dim>(kRotated / (static_cast<size_t>(count_) * sizeof(T))), 1, 64);
    std::vector<T> host(static_cast<size_t>(count_));
    for (Dim i = 0; i < count; ++i) host[static_cast<size_t>(i)] = make(i);
    array_.Grow(copies_ * count_);
    for (Dim i = 0; i < copies_; ++i) {
      kernels::CudaOrDie(cudaMemcpy(At(i), host.data(), host.size() * sizeof(T), cudaMemcpyDefault), "cudaMemcpy");
    }
  }
  T* At(Dim call) const { return array_.data() + call % copies_ * count_; }

 private:
  Dim count_, copies_ = 1;
  kernels::DeviceArray<T> array_;
};

// Median microseconds of call(i).
inline double Median(const std::function<void(Dim)>& call) {
  using kernels::CudaOrDie;
  constexpr int kWarm = 3;
  cudaEvent_t begin, end;
  CudaOrDie(cudaEventCreate(&begin), "cudaEventCreate");
  CudaOrDie(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> times;
  for (int i = 0; i < kWarm + kRepeats; ++i) {
    CudaOrDie(cudaEventRecord(begin, Stream()), "cudaEventRecord");
    call(i);
    CudaOrDie(cudaEventRecord(end, Stream()), "cudaEventRecord");
    CudaOrDie(cudaEventSynchronize(end), "cudaEventSynchronize");
    float ms = 0;
    CudaOrDie(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    if (i >= kWarm) times.push_back(ms * 1e3f);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

// Bytes read and written per microsecond by a device copy of 256 MiB.
inline double MeasureCopyRate() {
  constexpr Dim kCount = Dim{64} << 20;
  kernels::DeviceArray<float> from(kernels::CudaBackend()), to(kernels::CudaBackend());
  from.Grow(kCount);
  to.Grow(kCount);
  const double us = Median([&](Dim) {
    kernels::CudaOrDie(cudaMemcpyAsync(to.data(), from.data(), kCount * sizeof(float), cudaMemcpyDefault, Stream()),
                       "copy");
  });
  return 2.0 * static_cast<double>(kCount * sizeof(float)) / us;
}

}  // namespace hearth::bench
