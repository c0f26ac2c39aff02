#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "common/expert_home/home_view.h"
#include "common/expert_link/link_job.h"
#include "common/expert_link/link_view.h"
#include "cpu_tier/expert_runner.h"
#include "cpu_tier/tier_counters.h"

namespace hearth {

// The thread that serves one link region: finds the oldest published job, computes it, raises its done word. Idle, it
// spins briefly and then sleeps on the region's bell.
class JobLoop {
 public:
  // All must outlive this object.
  JobLoop(const HomeView& home, const LinkView& link, const kernels::ExpertKernel& kernel, ThreadTeam& team,
          TierCounters& counters);
  ~JobLoop();  // lets a running job end early
  JobLoop(const JobLoop&) = delete;
  JobLoop& operator=(const JobLoop&) = delete;

  void Stop();  // any thread; returns at once

 private:
  void Run();
  std::optional<uint32_t> NextSlot() const;
  void Serve(uint32_t slot);
  JobOutcome Compute(uint32_t slot);
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  const HomeView& home_;
  const LinkView& link_;
  ThreadTeam& team_;
  TierCounters& counters_;
  ExpertRunner runner_;
  LinkJob job_;
  std::vector<kernels::ExpertFfnArgs> experts_;
  std::vector<int32_t> out_row_;
  std::atomic<bool> stop_{false};
  const std::chrono::nanoseconds spin_;
  std::thread thread_;
};

}  // namespace hearth
