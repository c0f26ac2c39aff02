#pragma once

#include <memory>
#include <string>

#include "common/expert_home/home_view.h"
#include "cpu_tier/job_loop.h"
#include "gpu_worker/experts/link_attachment.h"
#include "tests/support/tiny_home.h"

namespace hearth {

// A link region for jobs of few rows, without a name, registered with `memory`.
std::shared_ptr<LinkAttachment> MakeEmptyJobRegion(const HomeView& home, const kernels::MemoryOps& memory);

// cpu_tier's own loop and threads over a link region, with experts that compute nothing: what is left of a job is its
// hand-off. A region on tmpfs within one process is the same memory and the same futexes as between two.
class EmptyTier {
 public:
  static constexpr uint32_t kHidden = 4096, kExperts = 8;

  // `units`: pieces of an expert's one loop; with more than one the threads share it.
  EmptyTier(int threads, const std::string& cpus, int units, const kernels::MemoryOps& memory);
  ~EmptyTier();

  const HomeView& home() const { return home_; }
  const std::shared_ptr<LinkAttachment>& region() const { return region_; }

 private:
  testing::TinyHome tiny_;
  HomeView home_;
  std::shared_ptr<LinkAttachment> region_;
  TierCounters counters_;
  std::unique_ptr<kernels::ExpertKernel> kernel_;
  std::unique_ptr<ThreadTeam> team_;
  std::unique_ptr<JobLoop> loop_;
};

}  // namespace hearth
