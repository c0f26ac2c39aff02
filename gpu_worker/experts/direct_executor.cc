#include "gpu_worker/experts/direct_executor.h"

#include "gpu_worker/experts/run_group.h"

namespace hearth {

Status DirectExecutor::BeginDecode(const MoeStep&) { return Status::Ok(); }

Status DirectExecutor::FinishDecode(const MoeStep& step) {
  Run(step);
  return Status::Ok();
}

Status DirectExecutor::Prefill(const MoeStep& step, int, const std::function<bool()>& cancelled) {
  if (cancelled && cancelled()) return Cancelled("cancelled during prefill");
  Run(step);
  return Status::Ok();
}

void DirectExecutor::Run(const MoeStep& step) {
  picks_.Build(step.ids, step.rows, step.top_k, static_cast<int>(home_.experts()));
  for (const PickGroup& group : picks_.groups()) {
    const std::byte* record = home_.record(static_cast<uint32_t>(step.moe_layer), static_cast<uint32_t>(group.expert));
    RunGroup(backend_, home_, step, picks_, group, record);
  }
}

}  // namespace hearth
