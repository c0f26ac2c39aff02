#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

// A number with one writer and any readers, none of whom waits.
class RelaxedCounter {
 public:
  void Add(uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void Set(uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// One figure for each way an expert's weights can be reached.
template <typename T>
struct PerLane {
  T vram{};    // cache slots
  T pcie{};    // the home, read across the link (copies into a slot on the way included)
  T cpu{};     // computed by cpu_tier
  T staged{};  // copied before they are needed: prefill's staging buffers, experts of decode fetched ahead
};

// What the executor counts since it started. Written by the step thread alone.
template <typename T>
struct LaneFigures {
  PerLane<T> picks;                // rows' picks; each pick is counted in one lane, late ones under cpu
  PerLane<T> bytes;                // of expert records
  PerLane<T> busy_ns;              // time spent in the lane; cpu: as the daemon reports it
  T late_picks{};                  // of picks.cpu: computed again from the home
  T cache_hits{}, cache_misses{};  // experts of decode steps
  T admissions{}, evictions{};
  T ahead_fetched{}, ahead_used{};  // experts fetched ahead, and those of them that were picked
  T slots{}, slots_used{}, slots_lent{};
  T cpu_jobs{}, cpu_experts{};
  T cpu_timeouts{};  // jobs that missed their deadline or died with their daemon
  T cpu_wait_ns{};   // that the step waited after its own work was done
};

using LaneStats = LaneFigures<RelaxedCounter>;
using LaneSnapshot = LaneFigures<uint64_t>;

// Readable from any thread. The figures may be from slightly different moments.
LaneSnapshot Snapshot(const LaneStats& stats);

}  // namespace hearth
