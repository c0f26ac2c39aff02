#include "gpu_worker/experts/executor_start.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "gpu_worker/experts/lane_timer.h"
#include "gpu_worker/experts/pick_groups.h"
#include "gpu_worker/experts/run_group.h"
#include "kernels/device_array.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

constexpr int kMeasurements = 3;
constexpr int kSmallHost = 4;

// Seconds for one row through one expert at `record`, the least of a few.
double MeasureExpert(const HomeView& home, const kernels::Backend& backend, const std::byte* record) {
  kernels::DeviceArray<kernels::Real> x(backend), out(backend);
  x.Assign(std::vector<kernels::Real>(home.hidden(), 1));
  out.Grow(home.hidden());
  const int32_t id = 0;
  PickGroups picks;
  picks.Build(&id, 1, 1, static_cast<int>(home.experts()));
  const MoeStep step{.x = x.data(), .ids = &id, .rows = 1, .top_k = 1, .pick_out = out.data()};
  GroupBatch batch(backend, home);
  LaneTimer timer(backend);
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kMeasurements; ++i) {
    timer.Begin();
    batch.Add(step, picks, picks.groups()[0], record);
    batch.Run(step, kernels::Phase::kDecode);
    timer.End([&best](double seconds) { best = std::min(best, seconds); });
    backend.memory->synchronize(backend.stream);
    timer.Collect();
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
    cost.t_hit = cost.t_zc = MeasureExpert(home, backend, home.record(0, 0));
    if (!backend.memory->is_host) {
      kernels::DeviceArray<std::byte> record(backend);
      record.Assign({home.record(0, 0), static_cast<size_t>(home.record_stride())});
      cost.t_hit = MeasureExpert(home, backend, record.data());
    }
    // Too hopeful on purpose: the lane is tried, and the first jobs tell the truth.
    cost.b = cost.t_zc / 2;
  }
  if (options.ct_a) cost.a = *options.ct_a / 1e3;
  if (options.ct_b) cost.b = *options.ct_b / 1e3;
  if (options.ct_tzc) cost.t_zc = *options.ct_tzc / 1e3;
  return cost;
}

std::chrono::microseconds CpuBudget(const ExecutorOptions& options, double predicted_seconds, int usable_cpus) {
  // Whoever forces the lane wants what it computes, and a lane that is never in time is never predicted better.
  const bool forced = options.cpu_lane == CpuLaneMode::kAlways || options.force == ForceSource::kCpu;
  const std::chrono::microseconds least =
      options.least_cpu_deadline.value_or(forced || usable_cpus <= kSmallHost ? 50ms : 5ms);
  const auto predicted =
      std::chrono::microseconds(static_cast<int64_t>(options.cpu_deadline_factor * predicted_seconds * 1e6));
  return std::max(least, predicted);
}

}  // namespace hearth
