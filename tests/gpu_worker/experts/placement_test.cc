#include "gpu_worker/experts/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "gpu_worker/experts/executor_start.h"

namespace hearth {
namespace {

double StepSeconds(const std::vector<PlacementInput>& experts, const std::vector<Source>& sources,
                   const CostConstants& c) {
  double gpu = 0, weight = 0;
  for (size_t i = 0; i < experts.size(); ++i) {
    if (sources[i] == Source::kHit || sources[i] == Source::kAhead) gpu += c.t_hit;
    if (sources[i] == Source::kPcie) gpu += c.t_zc;
    if (sources[i] == Source::kCpu) weight += CpuWeight(c, experts[i].picks);
  }
  return std::max(gpu, CpuSeconds(c, weight));
}

std::vector<PlacementInput> RandomExperts(std::mt19937& random) {
  std::vector<PlacementInput> experts(1 + random() % 10);
  for (PlacementInput& e : experts) {
    e.picks = 1 + static_cast<int>(random() % 4);
    e.resident = random() % 3 == 0;
    e.ahead = !e.resident && random() % 4 == 0;
    e.admitted = !e.resident && random() % 4 == 0;
    e.score = static_cast<double>(random() % 100);
  }
  return experts;
}

TEST(Placement, EveryExpertGetsASourceThatCanServeIt) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<PlacementInput> experts = RandomExperts(random);
    const bool up = random() % 2 == 0;
    const std::vector<Source> sources = Place(experts, CostConstants(), {CpuLaneMode::kAuto, up});
    ASSERT_EQ(sources.size(), experts.size());
    for (size_t e = 0; e < experts.size(); ++e) {
      if (experts[e].resident) {
        EXPECT_EQ(sources[e], Source::kHit);
      } else if (experts[e].ahead) {
        EXPECT_EQ(sources[e], Source::kAhead);
      } else if (experts[e].admitted || !up) {
        EXPECT_EQ(sources[e], Source::kPcie);
      } else {
        EXPECT_TRUE(sources[e] == Source::kPcie || sources[e] == Source::kCpu);
      }
    }
  }
}

TEST(Placement, AutoIsAtLeastAsQuickAsEveryOtherNumberOfCpuPicks) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> cost(1e-6, 1e-3);
  for (int i = 0; i < 2000; ++i) {
    std::vector<PlacementInput> experts = RandomExperts(random);
    const CostConstants c{cost(random), cost(random), cost(random), cost(random), 0.3};
    const std::vector<Source> chosen = Place(experts, c, {CpuLaneMode::kAuto, true});
    std::vector<size_t> movable;
    for (size_t e = 0; e < experts.size(); ++e) {
      if (!experts[e].resident && !experts[e].ahead && !experts[e].admitted) movable.push_back(e);
    }
    std::stable_sort(movable.begin(), movable.end(),
                     [&](size_t a, size_t b) { return experts[a].picks < experts[b].picks; });
    std::vector<Source> other = Place(experts, c, {CpuLaneMode::kNever, true});
    const double best = StepSeconds(experts, chosen, c);
    EXPECT_LE(best, StepSeconds(experts, other, c) * (1 + 1e-12));
    for (size_t e : movable) {
      other[e] = Source::kCpu;
      EXPECT_LE(best, StepSeconds(experts, other, c) * (1 + 1e-12));
    }
  }
}

TEST(Placement, ForcedModes) {
  const std::vector<PlacementInput> experts = {{1, true}, {1, false}, {2, false, false, true}, {1, false, true}};
  const CostConstants c;
  EXPECT_EQ(Place(experts, c, {CpuLaneMode::kAlways, true}), std::vector<Source>(4, Source::kCpu));
  const std::vector<Source> without = {Source::kHit, Source::kPcie, Source::kPcie, Source::kAhead};
  EXPECT_EQ(Place(experts, c, {CpuLaneMode::kAlways, false}), without);
  EXPECT_EQ(Place(experts, c, {CpuLaneMode::kNever, true}), without);
}

TEST(CostModel, GoesToWhatIsObservedAndTriesTheLaneAgain) {
  CostConstants start;
  CostModel model(start);
  for (int i = 0; i < 500; ++i) {
    model.ObserveHits(4, 4 * 30e-6);
    model.ObservePcie(2, 2 * 300e-6);
    model.ObserveCpu(3, 3 * 700e-6, 3 * 700e-6 + 90e-6);
  }
  EXPECT_NEAR(model.now().t_hit, 30e-6, 1e-9);
  EXPECT_NEAR(model.now().t_zc, 300e-6, 1e-9);
  EXPECT_NEAR(model.now().b, 700e-6, 1e-9);
  EXPECT_NEAR(model.now().a, 90e-6, 1e-9);
  for (int i = 0; i < 50000; ++i) model.ObserveIdleCpu();
  EXPECT_NEAR(model.now().b, start.b, start.b / 100);
}

// Decode layers with five misses each, on a CPU lane whose jobs take what is predicted times what `slowdown` draws.
struct Lanes {
  static constexpr int kMisses = 5, kLayers = 42 * 300;
  static constexpr double kZc = 160e-6, kA = 30e-6, kB = 140e-6;

  Lanes(double deadline, std::function<double(std::mt19937&)> slowdown)
      : deadline_(deadline), slowdown_(std::move(slowdown)) {}

  // Mean seconds of a layer.
  double LayerSeconds(CpuLaneMode mode) const {
    CostConstants start;
    start.a = kA;
    start.b = kZc / 2;
    start.t_zc = kZc;
    CostModel model(start);
    std::mt19937 random(7);
    const std::vector<PlacementInput> experts(kMisses);
    double sum = 0;
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::vector<Source> sources = Place(experts, model.now(), {mode, true});
      const auto on_cpu = static_cast<int>(std::count(sources.begin(), sources.end(), Source::kCpu));
      const double gpu = kZc * (kMisses - on_cpu);
      double cpu = 0;
      if (on_cpu > 0) {
        const double daemon = kB * on_cpu * slowdown_(random);
        cpu = kA + daemon;
        if (cpu > deadline_) {
          model.ObserveLateCpu(on_cpu, deadline_, on_cpu);
          cpu = deadline_ + on_cpu * kZc;
        } else {
          model.ObserveCpu(on_cpu, daemon, cpu > gpu + 20e-6 ? cpu : 0);
        }
      } else {
        model.ObserveIdleCpu();
      }
      if (on_cpu < kMisses) model.ObservePcie(kMisses - on_cpu, gpu);
      sum += std::max(gpu, cpu);
    }
    return sum / kLayers;
  }

 private:
  double deadline_;
  std::function<double(std::mt19937&)> slowdown_;
};

std::function<double(std::mt19937&)> Outliers(double share, double factor) {
  return [=](std::mt19937& random) { return std::bernoulli_distribution(share)(random) ? factor : 1.0; };
}

TEST(CpuBudget, WaitsLongerWhereTheHostIsSmallOrTheLaneIsForced) {
  using namespace std::chrono_literals;
  ExecutorOptions options;
  EXPECT_EQ(CpuBudget(options, 1e-3, 16), 5ms);
  EXPECT_EQ(CpuBudget(options, 4e-3, 16), 12ms) << "three times what is predicted";
  EXPECT_EQ(CpuBudget(options, 1e-3, 4), 50ms);
  options.cpu_lane = CpuLaneMode::kAlways;
  EXPECT_EQ(CpuBudget(options, 1e-3, 16), 50ms);
  options.least_cpu_deadline = 7ms;
  EXPECT_EQ(CpuBudget(options, 1e-3, 4), 7ms);
  options = {};
  options.force = ForceSource::kCpu;
  EXPECT_EQ(CpuBudget(options, 1e-3, 16), 50ms);
}

// Of large hosts and of small ones, see CpuBudget.
constexpr double kDeadlines[] = {5e-3, 50e-3};

TEST(Placement, ACpuLaneThatIsSeldomLateIsWorthIt) {
  for (const double deadline : kDeadlines) {
    const auto share = [=](std::function<double(std::mt19937&)> slowdown) {
      const Lanes lanes(deadline, std::move(slowdown));
      return lanes.LayerSeconds(CpuLaneMode::kAuto) / lanes.LayerSeconds(CpuLaneMode::kNever);
    };
    EXPECT_LT(share(Outliers(0, 1)), 0.6) << deadline;
    EXPECT_LT(share(Outliers(0.01, 5)), 0.65) << deadline;
    EXPECT_LT(share(Outliers(0.001, 1000)), 0.72) << deadline;
  }
}

TEST(Placement, AnUnsteadyCpuLaneIsHardlySlowerThanNone) {
  for (const double deadline : kDeadlines) {
    for (const double share : {0.02, 0.05, 0.1, 0.2, 0.5, 1.0}) {
      for (const double factor : {1.5, 3.0, 6.0, 12.0, 40.0, 1000.0}) {
        const Lanes lanes(deadline, Outliers(share, factor));
        const double without = lanes.LayerSeconds(CpuLaneMode::kNever);
        EXPECT_LE(lanes.LayerSeconds(CpuLaneMode::kAuto), 1.15 * without)
            << share << " of the jobs take " << factor << " times as long, deadline " << deadline;
      }
    }
  }
}

TEST(CostModel, ALateJobAddsToEveryJobAndIsForgotten) {
  const CostConstants start;
  CostModel model(start);
  model.ObserveLateCpu(2, 5e-3, 2);
  EXPECT_EQ(model.now().b, start.b) << "it says nothing about the others";
  EXPECT_NEAR(model.now().late, (5e-3 + 2 * start.t_zc - start.a - 2 * start.b) / 256, 1e-12);
  for (int i = 0; i < 2000; ++i) model.ObserveCpu(2, 2 * start.b, 0);
  EXPECT_LT(model.now().late, 1e-6);
  for (int i = 0; i < 100; ++i) model.ObserveLateCpu(2, 5e-3, 2);
  EXPECT_GT(model.now().late, 1e-3);
  for (int i = 0; i < 50000; ++i) model.ObserveIdleCpu();
  EXPECT_LT(model.now().late, 1e-6);
}

TEST(Placement, WhatLateJobsCostIsWeighedAgainstWhatTheLaneSaves) {
  const std::vector<PlacementInput> experts(4);
  CostConstants c{.t_hit = 20e-6, .t_zc = 200e-6, .a = 50e-6, .b = 100e-6};
  const auto on_cpu = [&] {
    const std::vector<Source> sources = Place(experts, c, {CpuLaneMode::kAuto, true});
    return std::count(sources.begin(), sources.end(), Source::kCpu);
  };
  EXPECT_EQ(on_cpu(), 3);  // 350 microseconds instead of 800
  c.late = 440e-6;
  EXPECT_EQ(on_cpu(), 3);
  c.late = 460e-6;
  EXPECT_EQ(on_cpu(), 0);
}

}  // namespace
}  // namespace hearth
