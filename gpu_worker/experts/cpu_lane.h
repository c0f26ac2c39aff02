#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/deadline.h"
#include "kernels/real.h"

namespace hearth {

// Experts of one layer for the CPU, and the rows they read.
struct CpuJob {
  struct Expert {
    int32_t expert = 0;
    std::span<const int32_t> x_rows;  // one per pick
  };
  int32_t layer = 0;
  const kernels::Real* x = nullptr;  // [rows, hidden]
  int64_t rows = 0;
  std::span<const Expert> experts;
  std::chrono::microseconds budget{0};  // how long the worker will wait
};

enum class CpuOutcome { kDone, kLate, kGone };

struct CpuResult {
  CpuOutcome outcome = CpuOutcome::kGone;
  // kDone: [picks, hidden] in the job's order of experts and picks. Valid until Publish, readable by copy_pieces.
  const float* rows = nullptr;
  double daemon_seconds = 0;  // kDone: what the daemon says it took
};

// The executor's view of cpu_tier: at most one job in flight. All but `up` belongs to the step thread.
class CpuLane {
 public:
  virtual ~CpuLane() = default;

  // Any thread.
  virtual bool up() const = 0;
  // False: the lane is down, or the job does not fit, or late jobs occupy every slot. Then nothing was published.
  virtual bool Publish(const CpuJob& job) = 0;
  // For the job published last. Returns early with kGone when the daemon is declared gone.
  virtual CpuResult Wait(Deadline deadline) = 0;
  // Gives back what is still held of a daemon that is gone. Not while rows of its last job are being read.
  virtual void LetGo() = 0;
};

}  // namespace hearth
