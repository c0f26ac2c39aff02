#include "gpu_worker/experts/lane_stats.h"

namespace hearth {
namespace {

PerLane<uint64_t> Read(const PerLane<RelaxedCounter>& lane) {
  return {lane.vram.Get(), lane.pcie.Get(), lane.cpu.Get(), lane.staged.Get()};
}

}  // namespace

LaneSnapshot Snapshot(const LaneStats& s) {
  LaneSnapshot out;
  out.picks = Read(s.picks);
  out.bytes = Read(s.bytes);
  out.busy_ns = Read(s.busy_ns);
  out.late_picks = s.late_picks.Get();
  out.cache_hits = s.cache_hits.Get();
  out.cache_misses = s.cache_misses.Get();
  out.admissions = s.admissions.Get();
  out.evictions = s.evictions.Get();
  out.ahead_fetched = s.ahead_fetched.Get();
  out.ahead_used = s.ahead_used.Get();
  out.slots = s.slots.Get();
  out.slots_used = s.slots_used.Get();
  out.slots_lent = s.slots_lent.Get();
  out.cpu_jobs = s.cpu_jobs.Get();
  out.cpu_experts = s.cpu_experts.Get();
  out.cpu_timeouts = s.cpu_timeouts.Get();
  out.cpu_wait_ns = s.cpu_wait_ns.Get();
  return out;
}

}  // namespace hearth
