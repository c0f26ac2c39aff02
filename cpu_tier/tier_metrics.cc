#include "cpu_tier/tier_metrics.h"

#include <algorithm>

#include "common/base/version.h"
#include "common/metrics/process_memory.h"

namespace hearth {
namespace {

// Brings a counter up to a total that is counted elsewhere.
void RaiseTo(Counter& counter, double total) { counter.Increment(std::max(0.0, total - counter.Value())); }

}  // namespace

void AddTierMetrics(Metrics& metrics, Daemon& daemon) {
  metrics
      .AddGauge("hearth_build_info", "Always 1; the labels tell the build.",
                {{"version", Version()}, {"process", "cpu_tier"}, {"isa", daemon.isa()}})
      .Set(1);
  Gauge& up = metrics.AddGauge("hearth_cpu_tier_up", "1 while a worker is attached.");
  Gauge& threads = metrics.AddGauge("hearth_cpu_tier_threads", "Threads that compute.");
  Counter& jobs = metrics.AddCounter("hearth_cpu_tier_jobs_total", "Jobs computed.");
  Counter& experts = metrics.AddCounter("hearth_cpu_tier_experts_total", "Experts computed.");
  Counter& rows = metrics.AddCounter("hearth_cpu_tier_rows_total", "Picks computed, one result row each.");
  Counter& busy = metrics.AddCounter("hearth_lane_busy_seconds_total", "Time spent computing.", {{"lane", "cpu"}});
  Counter& first =
      metrics.AddCounter("hearth_cpu_tier_first_after_idle_total", "Jobs more than 10 ms after the one before.");
  Counter& refused = metrics.AddCounter("hearth_cpu_tier_refused_total", "Jobs that were out of bounds.");
  Counter& abandoned =
      metrics.AddCounter("hearth_cpu_tier_abandoned_total", "Jobs dropped because nobody waited for them any more.");
  AddProcessMemory(metrics);
  threads.Set(static_cast<double>(daemon.cpus().size()));
  metrics.OnExpose([&, c = &daemon.counters()] {
    const auto total = [](const std::atomic<uint64_t>& n) {
      return static_cast<double>(n.load(std::memory_order_relaxed));
    };
    up.Set(daemon.attached() ? 1 : 0);
    RaiseTo(jobs, total(c->jobs));
    RaiseTo(experts, total(c->experts));
    RaiseTo(rows, total(c->rows));
    RaiseTo(busy, total(c->busy_ns) * 1e-9);
    RaiseTo(first, total(c->first_after_idle));
    RaiseTo(refused, total(c->refused));
    RaiseTo(abandoned, total(c->abandoned));
  });
}

}  // namespace hearth
