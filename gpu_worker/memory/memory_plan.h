#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace hearth {

// The sum of device memory, formed before anything is allocated. Pure. On the host backend "VRAM" is a budget that the
// same parts must fit.
struct MemoryNeeds {
  uint64_t context_bytes = 0;  // driver, context, registration tables; 0 on the host
  uint64_t dense_bytes = 0;    // everything of the model but routed experts and embedding
  uint64_t kv_bytes = 0;
  int64_t kv_tokens = 0;
  uint64_t state_bytes_per_slot = 0;
  int64_t sequence_slots = 0;
  uint64_t record_bytes = 0;   // of one expert
  int64_t experts = 0;         // of all layers
  int64_t least_slots = 1;     // below this nothing works
  int64_t ahead = 0;           // experts fetched ahead, each in a buffer of record_bytes
  uint64_t working_bytes = 0;  // taken after start, out of the reserve
};

struct MemoryLimits {
  uint64_t vram_bytes = 0;       // the most to use; on the host all there is
  uint64_t card_bytes = 0;       // of the whole card; 0 on the host
  uint64_t others_bytes = 0;     // of the card, held by other processes
  uint64_t reserve_bytes = 0;    // at least the working bytes are reserved
  int64_t max_expert_slots = 0;  // 0: no limit
};

struct MemoryPlan {
  struct Row {
    std::string part;
    std::string detail;
    uint64_t bytes = 0;
  };
  std::vector<Row> rows;
  int64_t expert_slots = 0;
  uint64_t arena_bytes = 0;  // of the expert cache
  uint64_t reserve_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t budget_bytes = 0;
  uint64_t others_bytes = 0;  // beside the budget
  uint64_t card_bytes = 0;

  std::string Table() const;
};

// FAILED_PRECONDITION with the sum and what would help when it does not fit. The budget is the smaller of what may be
// used and what others leave of the card.
Result<MemoryPlan> PlanMemory(const MemoryNeeds& needs, const MemoryLimits& limits);

// How to wait for memory that others hold; a test has a clock of its own.
struct MemoryWait {
  std::chrono::milliseconds most{30'000};  // for a predecessor that is dying
  std::chrono::milliseconds step{250};
  std::function<void(std::chrono::milliseconds)> sleep;
  std::function<uint64_t()> others_bytes;       // measured again
  std::function<void(const std::string&)> say;  // once, when it has to wait
};
// PlanMemory, again and again while the sum fails only because of what other processes hold.
Result<MemoryPlan> PlanMemoryPatiently(const MemoryNeeds& needs, MemoryLimits limits, const MemoryWait& wait);

// The largest chunk of `wanted` tokens halved so often that its activations take at most the share of the lent memory
// that leaves room for staging beside them; never below 64. `activation_bytes` is that of a chunk length.
int64_t ChunkThatFits(int64_t wanted, uint64_t lent_bytes, const std::function<uint64_t(int64_t)>& activation_bytes);

}  // namespace hearth
