#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>
#include <vector>

#include "bench/engine/bench.h"
#include "bench/engine/exactness_verdict.h"
#include "common/base/cpu_info.h"
#include "gpu_worker/experts/executor_start.h"

namespace hearth {
namespace {

constexpr int kSteps = 48, kKillAt = 24;

struct Forced {
  std::vector<std::vector<float>> logits;  // per step
  std::vector<std::vector<float>> picks;   // per step, all layers
  std::vector<double> seconds;
  std::vector<CpuWait> waits;
};

// The same tokens through the engine as it is; `at` is called before each step.
template <typename F>
Forced Run(Bench& bench, bool with_picks, F at) {
  Forced out;
  Streams streams(bench.engine, 1, false, 7);
  streams.Prefill(bench.config.prompt);
  if (with_picks) {
    bench.engine.decoder().set_tap(
        [&](const std::string& name, const kernels::Real* values, int64_t rows, int64_t width) {
          if (name.ends_with(".router_ids"))
            out.picks.back().insert(out.picks.back().end(), values, values + rows * width);
        });
  }
  for (int step = 0; step < kSteps; ++step) {
    at(step);
    out.picks.emplace_back();
    const LaneSnapshot before = bench.engine.experts().stats();
    out.seconds.push_back(streams.Step());
    const LaneSnapshot after = bench.engine.experts().stats();
    out.waits.push_back(
        {static_cast<double>(after.cpu_wait_ns - before.cpu_wait_ns) / 1e9, after.cpu_jobs - before.cpu_jobs});
    if (with_picks) out.logits.push_back(streams.logits());
  }
  bench.engine.decoder().set_tap(nullptr);
  return out;
}

AnswerDifference Compare(const char* name, const Forced& exact, const Forced& fast, int begin, int end, size_t top_k) {
  double difference = 0, size = 0, worst = 0;
  size_t equal = 0, picks = 0;
  for (int step = begin; step < end; ++step) {
    const auto& a = exact.logits[static_cast<size_t>(step)];
    const auto& b = fast.logits[static_cast<size_t>(step)];
    double d2 = 0, a2 = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      d2 += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
      a2 += double{a[i]} * a[i];
    }
    difference += d2, size += a2;
    worst = std::max(worst, std::sqrt(d2 / static_cast<double>(a.size())));
    const auto& p = exact.picks[static_cast<size_t>(step)];
    const auto& q = fast.picks[static_cast<size_t>(step)];
    for (size_t row = 0; row < p.size(); row += top_k) {
      for (size_t k = row; k < row + top_k; ++k) {
        const auto first = q.begin() + static_cast<std::ptrdiff_t>(row);
        equal += std::find(first, first + static_cast<std::ptrdiff_t>(top_k), p[k]) !=
                 first + static_cast<std::ptrdiff_t>(top_k);
      }
    }
    picks += p.size();
  }
  const double count = static_cast<double>(exact.logits[0].size()) * (end - begin);
  const AnswerDifference answer{std::sqrt(difference / count), static_cast<double>(equal) / static_cast<double>(picks)};
  Say(name, "logits differ by %.3g rms (worst step %.3g), %.3g of their own rms; picks equal %.3f %%",
      answer.logits_rms, worst, std::sqrt(difference / size), 100.0 * answer.picks_equal);
  return answer;
}

// The deadline of a job of as many experts as a token picks, by the speed of the jobs that were in time.
double LongestJob(const ExecutorOptions& options, const LaneSnapshot& seen, size_t top_k) {
  const uint64_t done = seen.cpu_experts - seen.late_picks;  // of one stream, each expert is one pick
  const double expert = done == 0 ? 0 : static_cast<double>(seen.busy_ns.cpu) / 1e9 / static_cast<double>(done);
  return std::chrono::duration<double>(CpuBudget(options, expert * static_cast<double>(top_k), UsableCpuCount()))
      .count();
}

}  // namespace

void MeasureExactness(Bench& bench) {
  Title("fast against exact, the same tokens");
  ModelEngine& engine = bench.engine;
  const auto top_k = static_cast<size_t>(engine.model().num_experts_per_tok);
  const auto nothing = [](int) {};
  const auto judge = [&](const std::string& problem) {
    if (!problem.empty()) bench.failures.push_back(StrCat("exactness: ", problem));
  };
  const auto skipped = [&] {
    const std::string why = bench.WhyNoLane();
    Say("skipped", "%s", why.c_str());
    judge(StrCat("fast was skipped, ", why));
  };
  const auto kill = [&](int step) {
    if (step == kKillAt && bench.tier != nullptr) bench.tier->Kill();
  };
  engine.RestartExperts(bench.Options(true));
  const Forced exact = Run(bench, true, nothing);
  engine.RestartExperts(bench.Options(true));
  judge(WhyNotRepeated(Compare("exact, a second time", exact, Run(bench, true, nothing), 0, kSteps, top_k)));
  if (!bench.WaitForLane()) return skipped();
  ExecutorOptions options = bench.Options(false);
  engine.RestartExperts(options);
  const Forced fast = Run(bench, true, kill);
  if (bench.tier == nullptr) {
    judge(WhyTooFar("fast", Compare("fast", exact, fast, 0, kSteps, top_k)));
    judge(WhyLate(fast.waits, LongestJob(options, engine.experts().stats(), top_k)));
    Say("not measured", "a daemon that dies: give --tier-binary");
    return;
  }
  for (const auto& [name, begin, end] : {std::tuple{"fast, cpu_tier alive", 0, kKillAt},
                                         std::tuple{"fast, after cpu_tier was killed", kKillAt, kSteps}}) {
    judge(WhyTooFar(name, Compare(name, exact, fast, begin, end, top_k)));
  }

  bench.StartTier();
  if (!bench.WaitForLane()) return skipped();
  engine.RestartExperts(options);
  const uint64_t timeouts = engine.experts().stats().cpu_timeouts;
  const Forced timed = Run(bench, false, kill);
  const auto part = [&](int begin, int end) {
    return std::vector<double>(timed.seconds.begin() + begin, timed.seconds.begin() + end);
  };
  Say("step while alive", "median %.3f ms", MedianOf(part(kKillAt / 2, kKillAt)) * 1e3);
  Say("step at the kill", "%.3f ms, the next %.3f ms, slowest %.3f ms; jobs given up %llu",
      timed.seconds[kKillAt] * 1e3, timed.seconds[kKillAt + 1] * 1e3,
      *std::max_element(timed.seconds.begin() + kKillAt, timed.seconds.end()) * 1e3,
      static_cast<unsigned long long>(engine.experts().stats().cpu_timeouts - timeouts));
  Say("step after it", "median %.3f ms", MedianOf(part(kKillAt + 2, kSteps)) * 1e3);
  judge(WhyLate(timed.waits, LongestJob(options, engine.experts().stats(), top_k)));
  Say("step of exact, at the end of its run", "median %.3f ms (with the tap on)", MedianOf(exact.seconds) * 1e3);
  bench.StartTier();
}

}  // namespace hearth
