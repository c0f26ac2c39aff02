#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "bench/engine/bench.h"
#include "bench/engine/hit_rate_search.h"
#include "bench/engine/router_zipf.h"
#include "bench/engine/timeline.h"

namespace hearth {
namespace {

constexpr int kTimelineSteps = 16, kResidentSteps = 8;

double Gb(uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

// Figures of `a` that came after `b`.
LaneSnapshot Since(const LaneSnapshot& b, LaneSnapshot a) {
  const auto lanes = [](PerLane<uint64_t>& to, const PerLane<uint64_t>& from) {
    to.vram -= from.vram, to.pcie -= from.pcie, to.cpu -= from.cpu, to.staged -= from.staged;
  };
  lanes(a.picks, b.picks);
  lanes(a.bytes, b.bytes);
  lanes(a.busy_ns, b.busy_ns);
  a.late_picks -= b.late_picks;
  a.cache_hits -= b.cache_hits, a.cache_misses -= b.cache_misses;
  a.admissions -= b.admissions, a.evictions -= b.evictions;
  a.ahead_fetched -= b.ahead_fetched, a.ahead_used -= b.ahead_used;
  a.cpu_jobs -= b.cpu_jobs, a.cpu_experts -= b.cpu_experts;
  a.cpu_timeouts -= b.cpu_timeouts, a.cpu_wait_ns -= b.cpu_wait_ns;
  return a;
}

void PrintLanes(const LaneSnapshot& d, double steps) {
  const double experts = static_cast<double>(d.cache_hits + d.cache_misses);
  const double picks = static_cast<double>(d.picks.vram + d.picks.pcie + d.picks.cpu + d.picks.staged);
  Say("experts a step", "%.1f of %.1f picks (union factor %.3f), hit rate %.4f, admissions %.1f", experts / steps,
      picks / steps, experts / picks, static_cast<double>(d.cache_hits) / experts,
      static_cast<double>(d.admissions) / steps);
  Say("picks a step", "slots %.1f, PCIe %.1f, CPU %.1f (late %.2f)", static_cast<double>(d.picks.vram) / steps,
      static_cast<double>(d.picks.pcie) / steps, static_cast<double>(d.picks.cpu) / steps,
      static_cast<double>(d.late_picks) / steps);
  Say("bytes a step", "slots %.3f GB, PCIe %.3f GB, CPU %.3f GB, fetched ahead and used %.3f GB",
      Gb(d.bytes.vram) / steps, Gb(d.bytes.pcie) / steps, Gb(d.bytes.cpu) / steps, Gb(d.bytes.staged) / steps);
  if (d.ahead_fetched > 0) {
    Say("look-ahead", "%.1f experts a step fetched, %.1f of them picked (%.3f)",
        static_cast<double>(d.ahead_fetched) / steps, static_cast<double>(d.ahead_used) / steps,
        static_cast<double>(d.ahead_used) / static_cast<double>(d.ahead_fetched));
  }
  const auto rate = [](uint64_t bytes, uint64_t ns) {
    return ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(ns);
  };
  Say("lanes while busy", "slots %.1f GB/s, PCIe %.1f GB/s, CPU %.1f GB/s; CPU jobs %.1f a step, timeouts %llu",
      rate(d.bytes.vram, d.busy_ns.vram), rate(d.bytes.pcie, d.busy_ns.pcie), rate(d.bytes.cpu, d.busy_ns.cpu),
      static_cast<double>(d.cpu_jobs) / steps, static_cast<unsigned long long>(d.cpu_timeouts));
}

void PrintTimeline(Bench& bench, Streams& streams) {
  ModelEngine& engine = bench.engine;
  const LaneSnapshot before = engine.experts().stats();
  Timeline timeline(engine.decoder(), engine.backend());
  double wall = 0;
  for (int i = 0; i < kTimelineSteps; ++i) {
    timeline.BeginStep();
    wall += streams.Step();
    timeline.EndStep();
  }
  const LaneSnapshot d = Since(before, engine.experts().stats());
  const auto ms = [](double seconds) { return seconds * 1e3 / kTimelineSteps; };
  double staged = 0;
  for (size_t i = 0; i < Timeline::kStages; ++i) {
    staged += timeline.seconds()[i];
    Say(StrCat("timeline: ", Timeline::NameOf(i)), "%8.3f ms", ms(timeline.seconds()[i]));
  }
  const double hits = static_cast<double>(d.busy_ns.vram) / 1e9, pcie = static_cast<double>(d.busy_ns.pcie) / 1e9,
               wait = static_cast<double>(d.cpu_wait_ns) / 1e9;
  const double experts = timeline.seconds()[static_cast<size_t>(Decoder::Stage::kExperts)];
  Say("  of experts: hits", "%8.3f ms", ms(hits));
  Say("  of experts: PCIe", "%8.3f ms", ms(pcie));
  Say("  of experts: CPU wait", "%8.3f ms (after this thread's own work; it may overlap the GPU's)", ms(wait));
  Say("  of experts: rest, launch gaps", "%8.3f ms", ms(experts - hits - pcie));
  Say("timeline: outside the marks", "%8.3f ms of %.3f ms a step with marks", ms(wall - staged), ms(wall));
}

// Seconds of a step whose experts are all in slots: the step is done twice from the same state.
double ResidentStep(Bench& bench, Streams& streams, bool exact, uint64_t* misses) {
  ExecutorOptions options = bench.Options(exact);
  options.force = ForceSource::kHit;
  options.admission = cache::Admission::kAlways;
  options.look_ahead = 0;
  bench.engine.RestartExperts(options);
  std::vector<double> seconds;
  *misses = 0;
  for (int i = 0; i < kResidentSteps; ++i) {
    streams.Save();
    streams.Step();
    streams.StepAgain();
    const uint64_t before = bench.engine.experts().stats().cache_misses;
    seconds.push_back(streams.StepAgain());
    *misses += bench.engine.experts().stats().cache_misses - before;
  }
  return MedianOf(seconds);
}

// Decode steps at a warm cache.
struct DecodeRun {
  std::vector<double> seconds;
  LaneSnapshot lanes;  // of these steps
  double hit_rate() const {
    return static_cast<double>(lanes.cache_hits) / static_cast<double>(lanes.cache_hits + lanes.cache_misses);
  }
};

DecodeRun RunDecode(Bench& bench, Streams& streams, int64_t warm) {
  streams.Prefill(bench.config.prompt);
  for (int64_t i = 0; i < warm; ++i) streams.Step();
  const LaneSnapshot before = bench.engine.experts().stats();
  DecodeRun run;
  for (int64_t i = 0; i < bench.config.tokens; ++i) run.seconds.push_back(streams.Step());
  run.lanes = Since(before, bench.engine.experts().stats());
  return run;
}

// Runs with other routers until the cache hits as often as wanted; the streams are those of the last run. The search
// goes on from the routers that the measurement before ended with.
DecodeRun RunAtHitRate(Bench& bench, bool exact, int64_t warm, int count, std::optional<Streams>& streams) {
  constexpr int kMostRuns = 5;
  constexpr double kNear = 0.005, kNearEnough = 0.007;
  const double wanted = bench.config.hit_rate;
  ModelEngine& engine = bench.engine;
  const ModelConfig& model = engine.model();
  std::optional<HitRateSearch> search;
  for (int runs = 1;; ++runs) {
    streams.reset();
    engine.RestartExperts(bench.Options(exact));
    streams.emplace(engine, count, bench.greedy(), static_cast<uint64_t>(count));
    DecodeRun run = RunDecode(bench, *streams, warm);
    if (wanted == 0) return run;
    const double missed_by = std::abs(run.hit_rate() - wanted);
    Say("router_zipf", "%.4f: hit rate %.4f, wanted %.4f", bench.router_zipf, run.hit_rate(), wanted);
    if (missed_by <= kNear || runs == kMostRuns) {
      if (missed_by > kNearEnough) Say("remark", "the hit rate wanted was not reached in %d runs", runs);
      return run;
    }
    if (!search) {
      const double slots = static_cast<double>(run.lanes.slots) / model.moe_layer_count();
      search.emplace(HitRateSearch::Cache{model.n_routed_experts, model.num_experts_per_tok, slots}, wanted);
    }
    bench.router_zipf = search->Next(bench.router_zipf, run.hit_rate());
    SetRouterZipf(engine, bench.config.worker.model, bench.router_zipf);
  }
}

}  // namespace

void MeasureDecode(Bench& bench, int count, bool exact) {
  Title(StrCat("decode, ", count, count == 1 ? " stream, " : " different streams, ", exact ? "exact" : "fast"));
  if (!exact && !bench.WaitForLane()) {
    const std::string why = bench.WhyNoLane();
    Say("skipped", "%s", why.c_str());
    // Where fast is only half of what decodeN means and no daemon was given, a machine without one is meant.
    if (bench.config.Has(StrCat("fast", count)) || !bench.config.tier_binary.empty()) {
      bench.failures.push_back(StrCat("fast", count, ": skipped, ", why));
    }
    return;
  }
  const int64_t warm = std::max<int64_t>(1, bench.config.warm / count);
  std::optional<Streams> streams;
  const DecodeRun run = RunAtHitRate(bench, exact, warm, count, streams);
  const std::vector<double>& seconds = run.seconds;
  const LaneSnapshot& d = run.lanes;
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const auto steps = static_cast<double>(bench.config.tokens);
  const double median = MedianOf(seconds);
  Say("steps", "%.0f after %lld to warm up, prompt %lld, slots %llu", steps, static_cast<long long>(warm),
      static_cast<long long>(bench.config.prompt), static_cast<unsigned long long>(d.slots));
  Say("step", "median %.3f ms, mean %.3f ms, slowest %.3f ms", median * 1e3, sum / steps * 1e3,
      *std::max_element(seconds.begin(), seconds.end()) * 1e3);
  Say("rate", "%.2f tok/s by the median, %.2f by the mean", count / median, count * steps / sum);
  PrintLanes(d, steps);
  PrintTimeline(bench, *streams);

  uint64_t misses = 0;
  const double resident = ResidentStep(bench, *streams, exact, &misses);
  Say("step with all experts in slots", "%.3f ms (median of %d, %llu misses in all)", resident * 1e3, kResidentSteps,
      static_cast<unsigned long long>(misses));
  const double miss = Gb(d.bytes.pcie + d.bytes.cpu + d.bytes.staged) / steps, pcie = bench.ceilings.home_many;
  const double cpu = d.busy_ns.cpu == 0 ? 0 : static_cast<double>(d.bytes.cpu) / static_cast<double>(d.busy_ns.cpu);
  const auto limit = [&](const char* name, double rate) {
    const double best = miss / rate + resident;
    Say(name, "%.3f GB / %.1f GB/s + %.3f ms = %.3f ms, %.2f tok/s; reached %.1f %% (mean %.1f %%)", miss, rate,
        resident * 1e3, best * 1e3, count / best, best / median * 100, best / (sum / steps) * 100);
  };
  limit("PCIe limit", pcie);
  if (!exact && cpu > 0) limit("two-lane limit", pcie + cpu);
}

}  // namespace hearth
