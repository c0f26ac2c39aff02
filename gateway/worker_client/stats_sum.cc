#include "gateway/worker_client/stats_sum.h"

namespace hearth::engine {
namespace {

void Add(LaneCounts& to, const LaneCounts& from) {
  to.vram += from.vram;
  to.pcie += from.pcie;
  to.cpu += from.cpu;
  to.staged += from.staged;
  to.late += from.late;
}

void AddCache(EngineStats& to, const EngineStats& from) {
  to.cache.slots += from.cache.slots;
  to.cache.used += from.cache.used;
  to.cache.lent += from.cache.lent;
  to.cache.hits += from.cache.hits;
  to.cache.misses += from.cache.misses;
  to.cache.admissions += from.cache.admissions;
  to.cache.evictions += from.cache.evictions;
  to.cache.fetched_ahead += from.cache.fetched_ahead;
  to.cache.used_ahead += from.cache.used_ahead;
}

void AddCpuTier(EngineStats& to, const EngineStats& from) {
  const auto waited = [](const EngineStats& s) {
    return s.cpu_tier.wait_ms_per_job * static_cast<double>(s.cpu_tier.jobs);
  };
  const double wait = waited(to) + waited(from);
  to.cpu_tier.up = to.cpu_tier.up && from.cpu_tier.up;
  to.cpu_tier.jobs += from.cpu_tier.jobs;
  to.cpu_tier.experts += from.cpu_tier.experts;
  to.cpu_tier.timeouts += from.cpu_tier.timeouts;
  to.cpu_tier.threads += from.cpu_tier.threads;
  to.cpu_tier.wait_ms_per_job = to.cpu_tier.jobs == 0 ? 0 : wait / static_cast<double>(to.cpu_tier.jobs);
}

}  // namespace

EngineStats SumStats(const std::vector<EngineStats>& stats) {
  EngineStats sum = stats.front();
  for (size_t i = 1; i < stats.size(); ++i) {
    const EngineStats& from = stats[i];
    sum.requests_running += from.requests_running;
    sum.requests_waiting += from.requests_waiting;
    sum.requests_total += from.requests_total;
    sum.prompt_tokens_total += from.prompt_tokens_total;
    sum.completion_tokens_total += from.completion_tokens_total;
    AddCache(sum, from);
    AddCpuTier(sum, from);
    Add(sum.lane_picks, from.lane_picks);
    Add(sum.lane_bytes, from.lane_bytes);
    sum.decode_steps += from.decode_steps;
    sum.kv_tokens_used += from.kv_tokens_used;
    sum.kv_tokens_total += from.kv_tokens_total;
    sum.sequences_paused += from.sequences_paused;
  }
  return sum;
}

}  // namespace hearth::engine
