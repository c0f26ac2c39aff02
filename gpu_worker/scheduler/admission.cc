#include "gpu_worker/scheduler/admission.h"

#include <algorithm>

namespace hearth {

int64_t TokensToReserve(int64_t length, int64_t max_length) { return std::min(length + kGrowthRoom, max_length); }

bool HasRoom(const PoolView& pool, int64_t tokens) {
  const int64_t pages = (tokens + pool.page_tokens - 1) / pool.page_tokens;
  return pool.free_slots > 0 && pages * pool.page_tokens <= pool.free_tokens;
}

uint32_t QueuePosition(int64_t unfinished, int64_t slots) {
  return static_cast<uint32_t>(std::max<int64_t>(0, unfinished + 1 - slots));
}

}  // namespace hearth
