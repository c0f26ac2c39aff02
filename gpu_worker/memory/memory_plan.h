#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace hearth {

// The sum of device memory, formed before anything is allocated. Pure. On the host backend "VRAM" is a budget that the
// same parts must fit.
struct MemoryNeeds {
  uint64_t context_bytes = 0;  // driver, context, registration tables, other processes; 0 on the host
  uint64_t dense_bytes = 0;    // everything of the model but routed experts and embedding
  uint64_t kv_bytes = 0;
  int64_t kv_tokens = 0;
  uint64_t state_bytes_per_slot = 0;
  int64_t sequence_slots = 0;
  uint64_t record_bytes = 0;  // of one expert
  int64_t experts = 0;        // of all layers
  int64_t least_slots = 1;    // below this nothing works
  int64_t ahead = 0;          // experts fetched ahead, each in a buffer of record_bytes
};

struct MemoryLimits {
  uint64_t vram_bytes = 0;
  uint64_t reserve_bytes = 0;
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
  uint64_t total_bytes = 0;
  uint64_t budget_bytes = 0;

  std::string Table() const;
};

// FAILED_PRECONDITION with the sum and the options that would help when it does not fit.
Result<MemoryPlan> PlanMemory(const MemoryNeeds& needs, const MemoryLimits& limits);

// The largest chunk of `wanted` tokens halved so often that its activations take at most the share of the lent memory
// that leaves room for staging beside them; never below 64. `activation_bytes` is that of a chunk length.
int64_t ChunkThatFits(int64_t wanted, uint64_t lent_bytes, const std::function<uint64_t(int64_t)>& activation_bytes);

}  // namespace hearth
