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

uint64_t LeftByOthers(const MemoryLimits& limits) {
  return limits.card_bytes > limits.others_bytes ? limits.card_bytes - limits.others_bytes : 0;
}

// What would help, by what the budget comes from.
std::string Cure(const MemoryLimits& limits) {
  const std::string smaller = "lower -cs or -ambs";
  if (limits.card_bytes == 0 || limits.vram_bytes < LeftByOthers(limits)) {
    return smaller + ", or raise --vram-gb";
  }
  if (limits.others_bytes == 0) return smaller;
  return StrCat("other processes hold ", FormatBytes(limits.others_bytes), " of the card's ",
                FormatBytes(limits.card_bytes), ": end them (nvidia-smi lists them), or ", smaller);
}

}  // namespace

std::string MemoryPlan::Table() const {
  std::string table = "memory of the device:\n";
  for (const Row& row : rows) table += Line(row.part, row.bytes, row.detail);
  table += Line("sum", total_bytes, StrCat("of ", FormatBytes(budget_bytes)));
  if (others_bytes > 0) {
    table +=
        Line("other processes", others_bytes, StrCat("of the card's ", FormatBytes(card_bytes), ", beside the sum"));
  }
  return table;
}

Result<MemoryPlan> PlanMemory(const MemoryNeeds& needs, const MemoryLimits& limits) {
  MemoryPlan plan;
  plan.budget_bytes = limits.card_bytes == 0 ? limits.vram_bytes : std::min(limits.vram_bytes, LeftByOthers(limits));
  plan.others_bytes = limits.others_bytes;
  plan.card_bytes = limits.card_bytes;
  plan.reserve_bytes = std::max(limits.reserve_bytes, needs.working_bytes);
  const uint64_t state_bytes = needs.state_bytes_per_slot * static_cast<uint64_t>(needs.sequence_slots);
  plan.rows = {
      {"dense weights", "", needs.dense_bytes},
      {"KV latents and keys", StrCat(needs.kv_tokens, " tokens"), needs.kv_bytes},
      {"recurrent state", StrCat(needs.sequence_slots, " sequences"), state_bytes},
  };
  if (needs.context_bytes > 0) {
    plan.rows.insert(plan.rows.begin(), {"context and driver", "", needs.context_bytes});
  }
  const uint64_t ahead_bytes = needs.record_bytes * static_cast<uint64_t>(needs.ahead);
  if (ahead_bytes > 0) plan.rows.push_back({"look-ahead", StrCat(needs.ahead, " experts"), ahead_bytes});
  if (plan.reserve_bytes > 0) {
    const std::string detail =
        needs.working_bytes > 0 ? StrCat("of which ", FormatBytes(needs.working_bytes), " for prefill and decode") : "";
    plan.rows.push_back({"reserve", detail, plan.reserve_bytes});
  }
  uint64_t fixed = 0;
  for (const auto& row : plan.rows) fixed += row.bytes;

  const int64_t wanted = limits.max_expert_slots > 0 ? std::min(limits.max_expert_slots, needs.experts) : needs.experts;
  const int64_t least = std::min(needs.least_slots, wanted);
  const uint64_t left = plan.budget_bytes > fixed ? plan.budget_bytes - fixed : 0;
  const int64_t fitting = needs.record_bytes == 0 ? wanted : static_cast<int64_t>(left / needs.record_bytes);
  if (fixed > plan.budget_bytes || fitting < least) {
    const uint64_t least_bytes = needs.record_bytes * static_cast<uint64_t>(least);
    return FailedPrecondition("device memory: need ", FormatBytes(fixed + least_bytes), " (context ",
                              FormatBytes(needs.context_bytes), ", dense weights ", FormatBytes(needs.dense_bytes),
                              ", KV ", FormatBytes(needs.kv_bytes), ", states ", FormatBytes(state_bytes),
                              ", look-ahead ", FormatBytes(ahead_bytes), ", reserve ", FormatBytes(plan.reserve_bytes),
                              ", ", least, " expert slots ", FormatBytes(least_bytes), "), have ",
                              FormatBytes(plan.budget_bytes), "; ", Cure(limits));
  }
  plan.expert_slots = std::min(wanted, fitting);
  plan.arena_bytes = needs.record_bytes * static_cast<uint64_t>(plan.expert_slots);
  plan.rows.push_back(
      {"expert cache", StrCat(plan.expert_slots, " slots for ", needs.experts, " experts"), plan.arena_bytes});
  plan.total_bytes = fixed + plan.arena_bytes;
  return plan;
}

Result<MemoryPlan> PlanMemoryPatiently(const MemoryNeeds& needs, MemoryLimits limits, const MemoryWait& wait) {
  for (std::chrono::milliseconds waited{0};; waited += wait.step) {
    Result<MemoryPlan> plan = PlanMemory(needs, limits);
    if (plan.ok() || waited >= wait.most) return plan;
    MemoryLimits alone = limits;
    alone.others_bytes = 0;
    if (!PlanMemory(needs, alone).ok()) return plan;  // their end would not help
    if (waited.count() == 0 && wait.say) {
      wait.say(StrCat("other processes hold ", FormatBytes(limits.others_bytes),
                      " of device memory; waiting for it up to ", wait.most.count() / 1000, " s"));
    }
    wait.sleep(wait.step);
    limits.others_bytes = wait.others_bytes();
  }
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
