#include "kernels/parallel.h"

#include <memory>

#include "common/base/cpu_info.h"
#include "common/parallel/parallel_for.h"

namespace hearth::kernels {
namespace {

std::unique_ptr<ParallelTeam>& team() {
  static auto instance = std::make_unique<ParallelTeam>(UsableCpuCount());
  return instance;
}

}  // namespace

void SetKernelThreads(int threads) {
  team().reset();  // two teams at once would have the smaller one's limit
  team() = std::make_unique<ParallelTeam>(threads);
}
int KernelThreads() { return team()->threads(); }

namespace internal {

void RunParallel(Dim n, Dim grain, const std::function<void(Dim, Dim)>& body) {
  // A thread that waits here must not pick up an outer loop's index, whose thread-local scratch would be the same as
  // that of the op it is in the middle of. A team promises that.
  team()->Run(n, grain, body);
}

}  // namespace internal
}  // namespace hearth::kernels
