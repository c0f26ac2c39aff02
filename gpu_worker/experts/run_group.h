#pragma once

#include <cstddef>

#include "common/expert_home/home_view.h"
#include "gpu_worker/experts/moe_executor.h"
#include "gpu_worker/experts/pick_groups.h"
#include "kernels/backend.h"

namespace hearth {

// Computes one group into its rows of pick_out. `record` holds the expert's bytes: in the home, a slot or a staging
// buffer, which makes no difference to the result.
inline void RunGroup(const kernels::Backend& backend, const HomeView& home, const MoeStep& step,
                     const PickGroups& picks, const PickGroup& group, const std::byte* record) {
  kernels::ExpertFfnArgs args;
  args.expert = home.Expert(static_cast<uint32_t>(step.moe_layer), static_cast<uint32_t>(group.expert), record);
  args.x = step.x;
  args.x_row = picks.x_rows(group).data();
  args.out = step.pick_out;
  args.out_row = picks.out_rows(group).data();
  args.picks = group.picks;
  args.hidden = home.hidden();
  backend.expert_ffn(backend.stream, args);
}

}  // namespace hearth
