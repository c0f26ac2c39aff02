#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "cpu_tier/thread_team.h"
#include "kernels/backend.h"

namespace hearth {

// Several experts at once on a team of threads. A work unit is one strip of one matrix for all picks of its expert;
// the units of all experts form one loop per phase, with a barrier between phases only. Which thread does a unit does
// not show in the result.
class ExpertRunner {
 public:
  ExpertRunner(const kernels::Backend& backend, ThreadTeam& team) : backend_(backend), team_(team) {}

  // Asks `abandoned` before each phase; false when it said yes, and the results are not whole.
  bool Run(const std::vector<kernels::ExpertFfnArgs>& experts, const std::function<bool()>& abandoned);

 private:
  std::byte* Scratch(size_t bytes);

  const kernels::Backend& backend_;
  ThreadTeam& team_;
  std::vector<std::byte> memory_;
  std::vector<size_t> scratch_at_;    // per expert
  std::vector<uint32_t> first_unit_;  // per expert, and the end
};

}  // namespace hearth
