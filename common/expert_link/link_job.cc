#include "common/expert_link/link_job.h"

namespace hearth {

Status ReadJob(const LinkView& link, uint32_t slot, uint32_t layers, uint32_t experts, LinkJob& job) {
  const SlotWorkerLine& line = link.worker_line(slot);
  const LinkGeometry& g = link.geometry();
  job.number = line.published.load(std::memory_order_acquire);  // pairs with the release of Publish
  job.layer = line.layer;
  job.rows = line.rows;
  const uint32_t picks = line.picks, expert_count = line.experts;
  job.experts.clear();
  job.x_row.clear();
  if (job.layer >= layers || job.rows < 1 || job.rows > g.max_rows || picks < 1 || picks > g.max_picks ||
      expert_count < 1 || expert_count > g.max_experts) {
    return InvalidArgument("job of layer ", job.layer, " with ", job.rows, " rows, ", picks, " picks, ", expert_count,
                           " experts");
  }
  uint32_t first = 0;
  for (uint32_t e = 0; e < expert_count; ++e) {
    const JobExpert entry = link.experts(slot)[e];
    if (entry.expert >= experts || entry.picks < 1 || entry.picks > picks - first) {
      return InvalidArgument("job with expert ", entry.expert, " and ", entry.picks, " picks of it");
    }
    job.experts.push_back({entry.expert, first, entry.picks});
    first += entry.picks;
  }
  if (first != picks) return InvalidArgument("job with ", picks, " picks, ", first, " of them with an expert");
  for (uint32_t i = 0; i < picks; ++i) {
    const uint32_t row = link.x_row(slot)[i];
    if (row >= job.rows) return InvalidArgument("job that reads row ", row, " of ", job.rows);
    job.x_row.push_back(static_cast<int32_t>(row));
  }
  return Status::Ok();
}

}  // namespace hearth
