#pragma once

#include "common/expert_home/home_view.h"
#include "gpu_worker/experts/moe_executor.h"
#include "gpu_worker/experts/pick_groups.h"
#include "gpu_worker/experts/run_group.h"

namespace hearth {

// The always-correct path: every pick is computed from the home's own bytes. No cache, no threads, no second process.
// The other executor must agree with it bit for bit. One thread at a time.
class DirectExecutor : public MoeExecutor {
 public:
  // Both must outlive this object.
  DirectExecutor(const HomeView& home, const kernels::Backend& backend) : home_(home), batch_(backend, home) {}

  Status BeginDecode(const MoeStep& step) override;
  Status FinishDecode(const MoeStep& step) override;
  Status Prefill(const MoeStep& step, int next_moe_layer, const std::function<bool()>& cancelled) override;
  std::byte* LendActivations(uint64_t) override { return nullptr; }
  void TakeBackActivations() override {}

 private:
  void Run(const MoeStep& step, kernels::Phase phase);

  const HomeView& home_;
  GroupBatch batch_;
  PickGroups picks_;
};

}  // namespace hearth
