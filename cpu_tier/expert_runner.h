#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "cpu_tier/thread_team.h"
#include "kernels/expert_ffn/expert_kernel.h"

namespace hearth {

// Several experts at once on a team of threads. A work unit is one strip of one matrix for all picks of its expert. The
// units of all experts and phases form one loop without barriers: they are claimed in order, the phases of all experts
// one after the other, and a unit waits until the phase before it is done for its own expert, which it mostly is
// already. What is waited for was claimed before and so is being computed. Which thread does a unit does not show in
// the result.
class ExpertRunner {
 public:
  ExpertRunner(const kernels::ExpertKernel& kernel, ThreadTeam& team) : kernel_(kernel), team_(team) {}

  // Asks `abandoned`, from any thread, before each unit; false when it said yes, and the results are not whole.
  bool Run(const std::vector<kernels::ExpertFfnArgs>& experts, const std::function<bool()>& abandoned);

 private:
  // The units of one phase of one expert.
  struct Span {
    uint32_t first = 0, units = 0;
    uint32_t expert = 0;
    kernels::ExpertPhase phase{};
    int before = -1;  // index of the span that must be done first
  };
  void Plan(const std::vector<kernels::ExpertFfnArgs>& experts);
  std::byte* Scratch(size_t bytes);
  const Span& SpanOf(uint32_t unit) const;
  void Await(int span);
  void Finish(const Span& span);

  const kernels::ExpertKernel& kernel_;
  ThreadTeam& team_;
  std::vector<std::byte> memory_;
  std::vector<size_t> scratch_at_;  // per expert
  size_t scratch_bytes_ = 0;
  std::vector<Span> spans_;
  std::vector<int> last_span_;  // per expert
  uint32_t units_ = 0;
  std::unique_ptr<std::atomic<uint32_t>[]> done_;  // units done, per span
  size_t done_room_ = 0;
};

}  // namespace hearth
