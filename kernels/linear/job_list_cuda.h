#pragma once

#include <span>

#include "common/base/check.h"
#include "kernels/cuda/host_device.h"
#include "kernels/linear/operand_jobs_cuda.h"

namespace hearth::kernels::cuda {

// Jobs as one kernel argument. Block b works for the job with first_block[i] <= b < first_block[i + 1].
template <typename Job>
struct JobList {
  int count = 0;
  int first_block[kMaxJobs + 1] = {};
  Job jobs[kMaxJobs];

  void Add(const Job& job, int64_t blocks) {
    HEARTH_CHECK(count < kMaxJobs, "too many jobs in a launch");
    jobs[count] = job;
    first_block[count + 1] = first_block[count] + static_cast<int>(blocks);
    ++count;
  }
  int blocks() const { return first_block[count]; }

  // The last job that begins at or before `block`; jobs without blocks are passed over.
  HEARTH_HD int JobOf(int block) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (block >= first_block[middle]) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace hearth::kernels::cuda
