#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/expert_link/link_view.h"

namespace hearth {

// A published job as the daemon may use it: copied out of the region once, then checked.
struct LinkJob {
  uint32_t number = 0;
  uint32_t layer = 0;
  uint32_t rows = 0;
  struct Expert {
    uint32_t expert = 0;
    uint32_t first_pick = 0;
    uint32_t picks = 0;
  };
  std::vector<Expert> experts;
  std::vector<int32_t> x_row;  // [picks], each below `rows`

  uint32_t picks() const { return static_cast<uint32_t>(x_row.size()); }
};

// Reads the job in a slot. kInvalidArgument names what is out of bounds; `job.number` is set in any case.
Status ReadJob(const LinkView& link, uint32_t slot, uint32_t layers, uint32_t experts, LinkJob& job);

}  // namespace hearth
