#include "gpu_worker/scheduler/batch_plan.h"

#include <algorithm>

namespace hearth {

Work NextWork(bool decode_ready, bool prefill_ready, std::chrono::nanoseconds prefill_time,
              std::chrono::nanoseconds decode_every) {
  if (!prefill_ready) return decode_ready ? Work::kDecode : Work::kNone;
  return decode_ready && prefill_time >= decode_every ? Work::kDecode : Work::kPrefill;
}

std::vector<size_t> PlanBatch(std::span<const uint64_t> ready, size_t max_rows, uint64_t last_served) {
  const size_t first = static_cast<size_t>(std::upper_bound(ready.begin(), ready.end(), last_served) - ready.begin());
  std::vector<size_t> rows;
  for (size_t i = 0; i < std::min(ready.size(), max_rows); ++i) rows.push_back((first + i) % ready.size());
  return rows;
}

size_t PlanPrefill(std::span<const uint64_t> tickets) {
  return static_cast<size_t>(std::min_element(tickets.begin(), tickets.end()) - tickets.begin());
}

int64_t ChunkLength(int64_t done, int64_t total, int64_t chunk_size) {
  // Recurrent blocks start at absolute multiples of 64, so every chunk but the last ends at one.
  const int64_t end = (done + chunk_size) / 64 * 64;
  return std::min(end, total) - done;
}

}  // namespace hearth
