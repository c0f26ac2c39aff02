#include "gpu_worker/memory/memory_plan.h"

#include <algorithm>
#include <cstdio>

#include "common/base/byte_size.h"

namespace hearth {
namespace {

std::string Line(const std::string& part, uint64_t bytes, const std::string& detail) {
  char line[160];
  std::snprintf(line, sizeof line, "  %-22s %12s  %s\n", part.c_str(), FormatBytes(bytes).c_str(), detail.c_str());
  return line;
}

}  // namespace

std::string MemoryPlan::Table() const {
  std::string table = "memory of the device:\n";
  for (const Row& row : rows) table += Line(row.part, row.bytes, row.detail);
  table += Line("sum", total_bytes, StrCat("of ", FormatBytes(budget_bytes)));
  return table;
}

Result<MemoryPlan> PlanMemory(const MemoryNeeds& needs, const MemoryLimits& limits) {
  MemoryPlan plan;
  plan.budget_bytes = limits.vram_bytes;
  const uint64_t state_bytes = needs.state_bytes_per_slot * static_cast<uint64_t>(needs.sequence_slots);
  plan.rows = {
      {"dense weights", "", needs.dense_bytes},
      {"KV latents and keys", StrCat(needs.kv_tokens, " tokens"), needs.kv_bytes},
      {"recurrent state", StrCat(needs.sequence_slots, " sequences"), state_bytes},
  };
  if (needs.context_bytes > 0) {
    plan.rows.insert(plan.rows.begin(), {"context and driver", "and other processes", needs.context_bytes});
  }
  const uint64_t ahead_bytes = needs.record_bytes * static_cast<uint64_t>(needs.ahead);
  if (ahead_bytes > 0) plan.rows.push_back({"look-ahead", StrCat(needs.ahead, " experts"), ahead_bytes});
  if (limits.reserve_bytes > 0) plan.rows.push_back({"reserve", "", limits.reserve_bytes});
  uint64_t fixed = 0;
  for (const auto& row : plan.rows) fixed += row.bytes;

  const int64_t wanted = limits.max_expert_slots > 0 ? std::min(limits.max_expert_slots, needs.experts) : needs.experts;
  const int64_t least = std::min(needs.least_slots, wanted);
  const uint64_t left = limits.vram_bytes > fixed ? limits.vram_bytes - fixed : 0;
  const int64_t fitting = needs.record_bytes == 0 ? wanted : static_cast<int64_t>(left / needs.record_bytes);
  if (fixed > limits.vram_bytes || fitting < least) {
    const uint64_t least_bytes = needs.record_bytes * static_cast<uint64_t>(least);
    return FailedPrecondition(
        "device memory: need ", FormatBytes(fixed + least_bytes), " (context ", FormatBytes(needs.context_bytes),
        ", dense weights ", FormatBytes(needs.dense_bytes), ", KV ", FormatBytes(needs.kv_bytes), ", states ",
        FormatBytes(state_bytes), ", look-ahead ", FormatBytes(ahead_bytes), ", reserve ",
        FormatBytes(limits.reserve_bytes), ", ", least, " expert slots ", FormatBytes(least_bytes), "), have ",
        FormatBytes(limits.vram_bytes), "; lower -cs or -ambs, or raise --vram-gb");
  }
  plan.expert_slots = std::min(wanted, fitting);
  plan.arena_bytes = needs.record_bytes * static_cast<uint64_t>(plan.expert_slots);
  plan.rows.push_back(
      {"expert cache", StrCat(plan.expert_slots, " slots for ", needs.experts, " experts"), plan.arena_bytes});
  plan.total_bytes = fixed + plan.arena_bytes;
  return plan;
}

int64_t ChunkThatFits(int64_t wanted, uint64_t lent_bytes, const std::function<uint64_t(int64_t)>& activation_bytes) {
  constexpr int64_t kBlock = 64;
  constexpr double kShare = 0.5;
  int64_t chunk = wanted;
  while (chunk > kBlock && static_cast<double>(activation_bytes(chunk)) > kShare * static_cast<double>(lent_bytes)) {
    chunk = std::max(kBlock, chunk / 2 / kBlock * kBlock);
  }
  return chunk;
}

}  // namespace hearth
