#include "gpu_worker/expert_report.h"

#include "hearth/v1/engine.pb.h"

namespace hearth {
namespace {

void Fill(const PerLane<uint64_t>& in, uint64_t late, v1::LaneCounts* out) {
  out->set_vram(in.vram);
  out->set_pcie(in.pcie);
  out->set_cpu(in.cpu);
  out->set_staged(in.staged);
  out->set_late(late);
}

}  // namespace

void AddExpertStats(const LaneSnapshot& figures, v1::EngineStats& stats) {
  v1::CacheStats* cache = stats.mutable_expert_cache();
  cache->set_slots(figures.slots);
  cache->set_used(figures.slots_used);
  cache->set_lent(figures.slots_lent);
  cache->set_hits(figures.cache_hits);
  cache->set_misses(figures.cache_misses);
  cache->set_admissions(figures.admissions);
  cache->set_evictions(figures.evictions);
  cache->set_fetched_ahead(figures.ahead_fetched);
  cache->set_used_ahead(figures.ahead_used);
  Fill(figures.picks, figures.late_picks, stats.mutable_lane_picks());
  Fill(figures.bytes, 0, stats.mutable_lane_bytes());
  v1::CpuLaneStats* tier = stats.mutable_cpu_tier();
  tier->set_jobs(figures.cpu_jobs);
  tier->set_experts(figures.cpu_experts);
  tier->set_timeouts(figures.cpu_timeouts);
  const double wait_ms = static_cast<double>(figures.cpu_wait_ns) / 1e6;
  tier->set_wait_ms_per_job(figures.cpu_jobs == 0 ? 0 : wait_ms / static_cast<double>(figures.cpu_jobs));
}

void AddTierState(const CpuTierState& state, v1::EngineStats& stats) {
  v1::CpuLaneStats* tier = stats.mutable_cpu_tier();
  tier->set_up(state.up);
  tier->set_isa(state.isa);
  tier->set_threads(state.threads);
  tier->set_selftest(state.selftest);
}

LanePicks PicksOf(const LaneSnapshot& figures) {
  return {figures.picks.vram, figures.picks.pcie, figures.picks.cpu, figures.picks.staged, figures.late_picks};
}

}  // namespace hearth
