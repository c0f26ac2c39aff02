#pragma once

#include <cstddef>
#include <vector>

#include "common/expert_home/home_view.h"
#include "gpu_worker/experts/moe_executor.h"
#include "gpu_worker/experts/pick_groups.h"
#include "kernels/backend.h"

namespace hearth {

// Groups of a step that are computed in one call, each into its rows of pick_out. An expert's bytes may lie in the
// home, a slot or a staging buffer, which makes no difference to the result. The step's picks outlive the batch.
class GroupBatch {
 public:
  GroupBatch(const kernels::Backend& backend, const HomeView& home) : backend_(backend), home_(home) {}

  void Add(const MoeStep& step, const PickGroups& picks, const PickGroup& group, const std::byte* record) {
    jobs_.push_back(
        {.expert = home_.Expert(static_cast<uint32_t>(step.moe_layer), static_cast<uint32_t>(group.expert), record),
         .x_row = picks.x_rows(group).data(),
         .out_row = picks.out_rows(group).data(),
         .picks = group.picks});
  }
  size_t size() const { return jobs_.size(); }
  // Jobs hold on to the step's picks: what is not run must go before the next step builds its own.
  void Clear() { jobs_.clear(); }

  // Leaves the batch empty.
  void Run(const MoeStep& step, kernels::Phase phase) {
    if (jobs_.empty()) return;
    backend_.expert_batch(backend_.stream, {.jobs = jobs_.data(),
                                            .job_count = static_cast<kernels::Dim>(jobs_.size()),
                                            .x = step.x,
                                            .out = step.pick_out,
                                            .hidden = home_.hidden(),
                                            .phase = phase});
    Clear();
  }

 private:
  const kernels::Backend& backend_;
  const HomeView& home_;
  std::vector<kernels::ExpertJob> jobs_;
};

}  // namespace hearth
