#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/engine/bench.h"

namespace hearth {
namespace {

constexpr int kSteps = 48, kKillAt = 24;

struct Forced {
  std::vector<std::vector<float>> logits;  // per step
  std::vector<std::vector<float>> picks;   // per step, all layers
  std::vector<double> seconds;
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
    out.seconds.push_back(streams.Step());
    if (with_picks) out.logits.push_back(streams.logits());
  }
  bench.engine.decoder().set_tap(nullptr);
  return out;
}

void Compare(const char* name, const Forced& exact, const Forced& fast, int begin, int end, size_t top_k) {
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
  Say(name, "logits differ by %.3g rms (worst step %.3g), %.3g of their own rms; picks equal %.3f %%",
      std::sqrt(difference / count), worst, std::sqrt(difference / size),
      100.0 * static_cast<double>(equal) / static_cast<double>(picks));
}

}  // namespace

void MeasureExactness(Bench& bench) {
  Title("fast against exact, the same tokens");
  ModelEngine& engine = bench.engine;
  const auto top_k = static_cast<size_t>(engine.model().num_experts_per_tok);
  const auto nothing = [](int) {};
  const auto kill = [&](int step) {
    if (step == kKillAt && bench.tier != nullptr) bench.tier->Kill();
  };
  engine.RestartExperts(bench.Options(true));
  const Forced exact = Run(bench, true, nothing);
  engine.RestartExperts(bench.Options(true));
  Compare("exact, a second time", exact, Run(bench, true, nothing), 0, kSteps, top_k);
  if (!bench.WaitForLane()) {
    Say("skipped", "the CPU lane is not up");
    return;
  }
  ExecutorOptions options = bench.Options(false);
  engine.RestartExperts(options);
  const Forced fast = Run(bench, true, kill);
  if (bench.tier == nullptr) {
    Compare("fast", exact, fast, 0, kSteps, top_k);
    Say("not measured", "a daemon that dies: give --tier-binary");
    return;
  }
  Compare("fast, cpu_tier alive", exact, fast, 0, kKillAt, top_k);
  Compare("fast, after cpu_tier was killed", exact, fast, kKillAt, kSteps, top_k);

  bench.StartTier();
  if (!bench.WaitForLane()) {
    Say("skipped", "the CPU lane did not come up again");
    return;
  }
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
  Say("step of exact, at the end of its run", "median %.3f ms (with the tap on)", MedianOf(exact.seconds) * 1e3);
  bench.StartTier();
}

}  // namespace hearth
