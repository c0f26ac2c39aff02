#include "gpu_worker/experts/direct_executor.h"

namespace hearth {

Status DirectExecutor::BeginDecode(const MoeStep&) { return Status::Ok(); }

Status DirectExecutor::FinishDecode(const MoeStep& step) {
  Run(step, kernels::Phase::kDecode);
  return Status::Ok();
}

Status DirectExecutor::Prefill(const MoeStep& step, int, const std::function<bool()>& cancelled) {
  if (cancelled && cancelled()) return Cancelled("cancelled during prefill");
  Run(step, kernels::Phase::kPrefill);
  return Status::Ok();
}

void DirectExecutor::Run(const MoeStep& step, kernels::Phase phase) {
  picks_.Build(step.ids, step.rows, step.top_k, static_cast<int>(home_.experts()));
  for (const PickGroup& group : picks_.groups()) {
    batch_.Add(step, picks_, group,
               home_.record(static_cast<uint32_t>(step.moe_layer), static_cast<uint32_t>(group.expert)));
  }
  batch_.Run(step, phase);
}

}  // namespace hearth
