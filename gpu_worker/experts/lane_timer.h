#pragma once

#include <chrono>

#include "gpu_worker/experts/lane_stats.h"

namespace hearth {

// Adds the time of a scope to a counter.
class LaneTimer {
 public:
  explicit LaneTimer(RelaxedCounter& busy_ns) : busy_ns_(busy_ns) {}
  ~LaneTimer() { busy_ns_.Add(static_cast<uint64_t>(ns())); }
  LaneTimer(const LaneTimer&) = delete;
  LaneTimer& operator=(const LaneTimer&) = delete;

  int64_t ns() const { return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count(); }
  double seconds() const { return static_cast<double>(ns()) * 1e-9; }

 private:
  RelaxedCounter& busy_ns_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace hearth
