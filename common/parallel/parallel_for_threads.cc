// The same loops on threads of their own, started and joined for every loop: the thread sanitizer sees each hand-off of
// work and of results, which it does not see inside an uninstrumented oneTBB. For builds under that sanitizer only.
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/cpu_info.h"
#include "common/parallel/parallel_for.h"

namespace hearth {
namespace {

void RunOnThreads(int threads, int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto take = [&] {
    // Relaxed: the counter must not order one thread's indices before another's, or it would hide races.
    for (int64_t begin; (begin = next.fetch_add(grain, std::memory_order_relaxed)) < n;) {
      try {
        body(begin, std::min(n, begin + grain));
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
        next.store(n, std::memory_order_relaxed);
      }
    }
  };
  const int64_t helpers = std::min<int64_t>(threads, (n + grain - 1) / grain) - 1;
  {
    std::vector<std::jthread> others;
    for (int64_t i = 0; i < helpers; ++i) others.emplace_back(take);
    take();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

namespace internal {

void RunParallelFor(int64_t n, const std::function<void(int64_t, int64_t)>& body) {
  // Two on a single CPU, too: threads that alternate show a race as well as threads that run at once.
  static const int threads = std::max(2, UsableCpuCount());
  RunOnThreads(threads, n, 1, body);
}

}  // namespace internal

struct ParallelTeam::Impl {};

ParallelTeam::ParallelTeam(int threads) : threads_(std::max(1, threads)) {}
ParallelTeam::~ParallelTeam() = default;

void ParallelTeam::Run(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  RunOnThreads(threads_, n, std::max<int64_t>(1, grain), body);
}

}  // namespace hearth
