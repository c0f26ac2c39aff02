#pragma once

#include <functional>

#include "kernels/real.h"

namespace hearth::kernels {

// Threads the AVX2 ops may use, the caller included; at least 1. With 1 no other thread is involved. Set before the
// first op and not while one runs. The default is UsableCpuCount().
void SetKernelThreads(int threads);
int KernelThreads();

namespace internal {
void RunParallel(Dim n, Dim grain, const std::function<void(Dim, Dim)>& body);
}

// Calls f(i) for every i in [0, n), in any order and on any thread; returns when all are done. `grain` is the least
// number of indices worth a task of their own; n <= grain runs here, in order. f(i) must not depend on other indices,
// so the split can never show in a result.
template <typename F>
void ParallelFor(Dim n, Dim grain, F&& f) {
  if (n <= grain || KernelThreads() == 1) {
    for (Dim i = 0; i < n; ++i) f(i);
    return;
  }
  internal::RunParallel(n, grain, [&f](Dim begin, Dim end) {
    for (Dim i = begin; i < end; ++i) f(i);
  });
}
template <typename F>
void ParallelFor(Dim n, F&& f) {
  ParallelFor(n, 1, f);
}

}  // namespace hearth::kernels
