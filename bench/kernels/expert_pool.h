#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/kernels/bench_threads.h"
#include "kernels/expert_ffn/expert_kernel.h"

namespace hearth::bench {

// Experts of random codes, each thread's own in memory that the thread has touched first.
class ExpertPool {
 public:
  ExpertPool(BenchThreads& team, uint32_t bits, kernels::Dim hidden, kernels::Dim width, size_t bytes_per_thread);

  size_t bytes() const;                                                                                // of all threads
  int experts() const { return experts_; }                                                             // of one thread
  double weights() const { return 3.0 * static_cast<double>(hidden_) * static_cast<double>(width_); }  // of an expert
  kernels::Dim hidden() const { return hidden_; }
  std::span<const std::byte> share(int thread) const {
    return {shares_[static_cast<size_t>(thread)].get(), static_cast<size_t>(experts_) * expert_bytes_};
  }
  MlpView Expert(int thread, int index) const;

 private:
  struct Unmap {
    size_t bytes = 0;
    void operator()(std::byte* p) const;
  };
  const uint32_t bits_;
  const kernels::Dim hidden_, width_;
  const size_t expert_bytes_;
  const int experts_;
  std::vector<uint16_t> scales_;
  std::vector<std::unique_ptr<std::byte, Unmap>> shares_;
};

// One kernel over a pool.
class ExpertRun {
 public:
  ExpertRun(const ExpertPool& pool, const kernels::ExpertKernel& kernel, int threads, int tokens);
  void OneExpert(int thread) { Compute(thread, 0); }
  void All(int thread) {
    for (int i = 0; i < pool_.experts(); ++i) Compute(thread, i);
  }

 private:
  void Compute(int thread, int index);

  struct Thread {
    std::vector<float> x, out;
    std::vector<std::byte> scratch;
  };
  const ExpertPool& pool_;
  const kernels::ExpertKernel& kernel_;
  const int tokens_;
  std::vector<int32_t> rows_;
  std::vector<Thread> threads_;
};

}  // namespace hearth::bench
