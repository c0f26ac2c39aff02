#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>

#include "common/parallel/parallel_for.h"

namespace hearth {
namespace {

using Range = tbb::blocked_range<int64_t>;

}  // namespace

namespace internal {

void RunParallelFor(int64_t n, const std::function<void(int64_t, int64_t)>& body) {
  tbb::parallel_for(Range(0, n), [&](const Range& range) { body(range.begin(), range.end()); });
}

}  // namespace internal

struct ParallelTeam::Impl {
  explicit Impl(int threads) : limit(tbb::global_control::max_allowed_parallelism, threads), arena(threads) {}
  tbb::global_control limit;  // oneTBB would silently stop at the number of CPUs
  tbb::task_arena arena;
};

ParallelTeam::ParallelTeam(int threads)
    : threads_(std::max(1, threads)), impl_(std::make_unique<Impl>(std::max(1, threads))) {}
ParallelTeam::~ParallelTeam() = default;

void ParallelTeam::Run(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  impl_->arena.execute([&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(Range(0, n, std::max<int64_t>(1, grain)),
                        [&](const Range& range) { body(range.begin(), range.end()); });
    });
  });
}

}  // namespace hearth
