#include "gpu_worker/experts/executor_start.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/base/cpu_info.h"
#include "gpu_worker/experts/pick_groups.h"
#include "gpu_worker/experts/run_group.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

constexpr int kMeasurements = 3;
constexpr int kSmallHost = 4;

// Seconds for one row through one expert, the least of a few.
double MeasureExpert(const HomeView& home, const kernels::Backend& backend) {
  const std::vector<kernels::Real> x(home.hidden(), 1);
  std::vector<kernels::Real> out(home.hidden());
  const int32_t id = 0;
  PickGroups picks;
  picks.Build(&id, 1, 1, static_cast<int>(home.experts()));
  const MoeStep step{0, x.data(), &id, 1, 1, out.data()};
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kMeasurements; ++i) {
    const auto start = std::chrono::steady_clock::now();
    RunGroup(backend, home, step, picks, picks.groups()[0], home.record(0, 0));
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

int32_t PlanSlots(const ExecutorOptions& options, uint64_t experts, uint64_t record_bytes) {
  uint64_t slots = experts;
  if (options.max_slots > 0) slots = std::min(slots, static_cast<uint64_t>(options.max_slots));
  if (options.arena_bytes > 0) slots = std::min(slots, options.arena_bytes / record_bytes);
  return static_cast<int32_t>(std::min<uint64_t>(slots, std::numeric_limits<int32_t>::max() / 2));
}

CostConstants StartConstants(const HomeView& home, const kernels::Backend& backend, const ExecutorOptions& options) {
  CostConstants cost;
  if (home.layers() > 0 && home.experts() > 0) {
    cost.t_hit = cost.t_zc = MeasureExpert(home, backend);
    // Too hopeful on purpose: the lane is tried, and the first jobs tell the truth.
    cost.b = cost.t_zc / 2;
  }
  if (options.ct_a) cost.a = *options.ct_a / 1e3;
  if (options.ct_b) cost.b = *options.ct_b / 1e3;
  if (options.ct_tzc) cost.t_zc = *options.ct_tzc / 1e3;
  return cost;
}

std::chrono::microseconds CpuBudget(const ExecutorOptions& options, double predicted_seconds) {
  static const bool small_host = UsableCpuCount() <= kSmallHost;
  const std::chrono::microseconds least = options.least_cpu_deadline.value_or(small_host ? 50ms : 5ms);
  const auto predicted =
      std::chrono::microseconds(static_cast<int64_t>(options.cpu_deadline_factor * predicted_seconds * 1e6));
  return std::max(least, predicted);
}

}  // namespace hearth
