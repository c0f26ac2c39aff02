#include "kernels/parallel.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <memory>

#include "common/base/cpu_info.h"

namespace hearth::kernels {
namespace {

struct Pool {
  int threads = std::max(1, UsableCpuCount());
  std::unique_ptr<tbb::global_control> limit;  // oneTBB would silently stop at the number of CPUs
  std::unique_ptr<tbb::task_arena> arena;
  Pool() { Reset(threads); }
  void Reset(int n) {
    threads = std::max(1, n);
    arena.reset();
    limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, threads);
    arena = threads > 1 ? std::make_unique<tbb::task_arena>(threads) : nullptr;
  }
};

Pool& pool() {
  static Pool instance;
  return instance;
}

}  // namespace

void SetKernelThreads(int threads) { pool().Reset(threads); }
int KernelThreads() { return pool().threads; }

namespace internal {

void RunParallel(Dim n, Dim grain, const std::function<void(Dim, Dim)>& body) {
  // Isolated: a thread that waits here must not pick up an outer loop's task, whose thread-local scratch would be
  // the same as that of the op it is in the middle of.
  pool().arena->execute([&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(tbb::blocked_range<Dim>(0, n, std::max<Dim>(1, grain)),
                        [&](const tbb::blocked_range<Dim>& range) { body(range.begin(), range.end()); });
    });
  });
}

}  // namespace internal
}  // namespace hearth::kernels
