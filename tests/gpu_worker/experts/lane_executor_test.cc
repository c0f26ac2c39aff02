#include "gpu_worker/experts/lane_executor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "gpu_worker/experts/direct_executor.h"
#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

using kernels::Real;
using testing::TinyHome;
using testing::TinyHomeSpec;

constexpr int kTopK = 4;

const kernels::Backend& TestBackend() {
  return kernels::HostHasAvx2() ? kernels::Avx2Backend() : kernels::RefBackend();
}

// Rows of x, picks and room for the result.
struct Step {
  std::vector<Real> x, out;
  std::vector<int32_t> ids, hint_ids;
  std::vector<Real> hint_weights;
  MoeStep step;

  Step(const HomeView& home, int layer, int64_t rows, std::mt19937& random) {
    std::normal_distribution<float> normal;
    x.resize(static_cast<size_t>(rows) * home.hidden());
    for (Real& value : x) value = normal(random);
    for (int64_t row = 0; row < rows; ++row) {
      std::set<int32_t> picks;
      while (picks.size() < kTopK) picks.insert(static_cast<int32_t>(random() % home.experts()));
      ids.insert(ids.end(), picks.begin(), picks.end());
    }
    out.assign(static_cast<size_t>(rows) * kTopK * home.hidden(), -1);
    step = {layer, x.data(), x.data(), ids.data(), rows, kTopK, out.data(), {}};
  }

  // Hints of which about a quarter is wrong.
  void HintAt(const Step& next, uint32_t experts, std::mt19937& random) {
    hint_ids = next.ids;
    hint_weights.resize(hint_ids.size());
    for (size_t i = 0; i < hint_ids.size(); ++i) {
      if (random() % 4 == 0) hint_ids[i] = static_cast<int32_t>(random() % experts);
      hint_weights[i] = static_cast<Real>(random() % 100);
    }
    step.hints = {next.step.moe_layer, hint_ids.data(), hint_weights.data(), nullptr};
  }
};

std::vector<Real> Truth(const HomeView& home, const Step& s) {
  DirectExecutor direct(home, TestBackend());
  std::vector<Real> out(s.out.size(), -2);
  MoeStep step = s.step;
  step.pick_out = out.data();
  EXPECT_TRUE(direct.FinishDecode(step).ok());
  return out;
}

bool SameBits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

// cpu_tier in this process: computes at Publish, answers, comes late or dies as told.
class FakeLane : public CpuLane {
 public:
  FakeLane(const HomeView& home, int late_percent) : home_(home), late_percent_(late_percent) {}

  bool up() const override { return up_; }
  bool Publish(const CpuJob& job) override {
    if (random_() % 16 == 0 && late_percent_ > 0) return false;
    rows_.clear();
    for (const CpuJob::Expert& expert : job.experts) {
      for (int32_t row : expert.x_rows) {
        const size_t at = rows_.size();
        rows_.resize(at + home_.hidden());
        const int32_t zero = 0;
        kernels::ExpertFfnArgs args{
            home_.Expert(static_cast<uint32_t>(job.layer), static_cast<uint32_t>(expert.expert)),
            job.x + static_cast<size_t>(row) * home_.hidden(),
            &zero,
            rows_.data() + at,
            &zero,
            1,
            home_.hidden()};
        TestBackend().expert_ffn(nullptr, args);
      }
    }
    ++jobs;
    return true;
  }
  CpuResult Wait(Deadline) override {
    if (static_cast<int>(random_() % 100) < late_percent_) return {CpuOutcome::kLate};
    return {CpuOutcome::kDone, rows_.data(), 1e-4};
  }
  void LetGo() override {
    if (!up_) rows_.clear();
  }
  void set_up(bool up) { up_ = up; }
  int jobs = 0;

 private:
  const HomeView& home_;
  const int late_percent_;
  bool up_ = true;
  std::vector<float> rows_;
  std::mt19937 random_{5};
};

struct Case {
  int64_t slots;
  ForceSource force;
  cache::Admission admission;
  CpuLaneMode cpu_lane;
  int late_percent;
  int look_ahead = 0;
};

class LaneExecutorEqualsDirect : public ::testing::TestWithParam<Case> {};

TEST_P(LaneExecutorEqualsDirect, OnRandomStepsBitForBit) {
  const Case c = GetParam();
  const TinyHome tiny({});
  const HomeView home = tiny.view();
  FakeLane lane(home, c.late_percent);
  ExecutorOptions options;
  options.max_slots = c.slots;
  options.force = c.force;
  options.admission = c.admission;
  options.cpu_lane = c.cpu_lane;
  options.look_ahead = c.look_ahead;
  LaneExecutor executor(home, TestBackend(), options, &lane);
  std::mt19937 random(11);
  const auto layers = static_cast<int>(home.layers());
  uint64_t picks = 0;
  for (int round = 0; round < 24; ++round) {
    const bool prefill = round % 3 == 2;
    // 32 rows of 4 picks exceed the 16 experts of a layer and are staged; 3 rows are read from the home.
    const int64_t rows = prefill ? (round % 2 == 0 ? 32 : 3) : 1 + static_cast<int64_t>(random() % 4);
    lane.set_up(random() % 8 != 0);
    std::vector<Step> steps;
    for (int layer = 0; layer < layers; ++layer) steps.emplace_back(home, layer, rows, random);
    for (int layer = 0; layer < layers; ++layer) {
      Step& s = steps[static_cast<size_t>(layer)];
      if (layer + 1 < layers) s.HintAt(steps[static_cast<size_t>(layer) + 1], home.experts(), random);
      if (prefill) {
        ASSERT_TRUE(executor.Prefill(s.step, layer + 1 < layers ? layer + 1 : -1, [] { return false; }).ok());
      } else {
        ASSERT_TRUE(executor.BeginDecode(s.step).ok());
        ASSERT_TRUE(executor.FinishDecode(s.step).ok());
      }
      ASSERT_TRUE(SameBits(s.out, Truth(home, s))) << "round " << round << " layer " << layer;
      picks += static_cast<uint64_t>(rows) * kTopK;
    }
  }
  const LaneSnapshot stats = executor.stats();
  EXPECT_EQ(stats.picks.vram + stats.picks.pcie + stats.picks.cpu + stats.picks.staged, picks)
      << "every pick has one source";
  EXPECT_EQ(stats.slots_lent, 0u);
  EXPECT_EQ(stats.admissions - stats.evictions, stats.slots_used);
  EXPECT_LE(stats.late_picks, stats.picks.cpu);
  SlotCheck verified;
  while (executor.Verify(0, verified)) {
  }
  EXPECT_EQ(verified.compared, stats.slots_used);
  EXPECT_EQ(verified.different, 0u);
  EXPECT_LE(stats.ahead_used, stats.ahead_fetched);
  EXPECT_EQ(stats.ahead_used > 0, c.look_ahead > 0 && c.force != ForceSource::kCpu);
  if (c.force == ForceSource::kPcie) {
    EXPECT_EQ(stats.picks.vram + stats.picks.cpu + stats.picks.staged, 0u);
  }
  if (c.force == ForceSource::kCpu || c.cpu_lane == CpuLaneMode::kAlways) {
    EXPECT_GT(lane.jobs, 0);
  }
  if (c.cpu_lane == CpuLaneMode::kNever) {
    EXPECT_EQ(lane.jobs, 0);
  }
  if (c.late_percent == 100) {
    EXPECT_EQ(stats.late_picks, stats.picks.cpu);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lanes, LaneExecutorEqualsDirect,
    ::testing::Values(Case{8, ForceSource::kNone, cache::Admission::kByFrequency, CpuLaneMode::kAuto, 0},
                      Case{20, ForceSource::kNone, cache::Admission::kByFrequency, CpuLaneMode::kAuto, 0},
                      Case{0, ForceSource::kNone, cache::Admission::kByFrequency, CpuLaneMode::kAuto, 0},
                      Case{20, ForceSource::kNone, cache::Admission::kAlways, CpuLaneMode::kNever, 0},
                      Case{20, ForceSource::kNone, cache::Admission::kNever, CpuLaneMode::kAuto, 0},
                      Case{20, ForceSource::kHit, cache::Admission::kByFrequency, CpuLaneMode::kAuto, 0},
                      Case{2, ForceSource::kHit, cache::Admission::kByFrequency, CpuLaneMode::kNever, 0},
                      Case{20, ForceSource::kPcie, cache::Admission::kByFrequency, CpuLaneMode::kNever, 0},
                      Case{20, ForceSource::kCpu, cache::Admission::kByFrequency, CpuLaneMode::kAuto, 0},
                      Case{20, ForceSource::kRandom, cache::Admission::kAlways, CpuLaneMode::kAuto, 30},
                      Case{20, ForceSource::kNone, cache::Admission::kByFrequency, CpuLaneMode::kAlways, 30},
                      Case{8, ForceSource::kNone, cache::Admission::kByFrequency, CpuLaneMode::kNever, 0, 1},
                      Case{8, ForceSource::kNone, cache::Admission::kAlways, CpuLaneMode::kNever, 0, 4},
                      Case{20, ForceSource::kNone, cache::Admission::kByFrequency, CpuLaneMode::kAuto, 0, 3},
                      Case{20, ForceSource::kRandom, cache::Admission::kAlways, CpuLaneMode::kAuto, 30, 4},
                      Case{20, ForceSource::kCpu, cache::Admission::kByFrequency, CpuLaneMode::kAuto, 0, 2},
                      Case{20, ForceSource::kNone, cache::Admission::kByFrequency, CpuLaneMode::kAlways, 100}));

TEST(LaneExecutor, WhatIsFetchedAheadIsReadFromItsBuffer) {
  const TinyHome tiny({});
  const HomeView home = tiny.view();
  ExecutorOptions options;
  options.max_slots = 1;
  options.admission = cache::Admission::kNever;
  options.look_ahead = 2;
  LaneExecutor executor(home, TestBackend(), options, nullptr);
  std::mt19937 random(3);
  const auto run = [&](Step& s) {
    ASSERT_TRUE(executor.BeginDecode(s.step).ok());
    ASSERT_TRUE(executor.FinishDecode(s.step).ok());
    EXPECT_TRUE(SameBits(s.out, Truth(home, s)));
  };
  for (int i = 0; i < 40 && !executor.WantsHints(); ++i) {
    Step s(home, 0, 1, random);
    run(s);
  }
  ASSERT_TRUE(executor.WantsHints()) << "every expert was missed";
  Step first(home, 0, 1, random), second(home, 1, 1, random), third(home, 2, 1, random);
  // The two picks with the largest weights are fetched, and serve the layer that the hints were for.
  const std::vector<Real> weights = {0.1F, 0.7F, 0.2F, 0.5F};
  first.step.hints = {1, second.ids.data(), weights.data(), nullptr};
  run(first);
  EXPECT_EQ(executor.stats().ahead_fetched, 2u);
  const uint64_t pcie = executor.stats().picks.pcie;
  run(second);
  EXPECT_EQ(executor.stats().picks.pcie - pcie, 2u);
  EXPECT_EQ(executor.stats().picks.staged, 2u);
  EXPECT_EQ(executor.stats().ahead_used, 2u);
  run(third);
  EXPECT_EQ(executor.stats().ahead_used, 2u) << "what is in the buffers belongs to another layer";
}

TEST(LaneExecutor, ExactModeNeverAsksTheCpu) {
  const TinyHome tiny({});
  const HomeView home = tiny.view();
  FakeLane lane(home, 0);
  ExecutorOptions options;
  options.exact = true;
  options.cpu_lane = CpuLaneMode::kAlways;
  options.max_slots = 8;
  LaneExecutor executor(home, TestBackend(), options, &lane);
  std::mt19937 random(1);
  Step s(home, 0, 2, random);
  ASSERT_TRUE(executor.BeginDecode(s.step).ok());
  ASSERT_TRUE(executor.FinishDecode(s.step).ok());
  EXPECT_EQ(lane.jobs, 0);
  EXPECT_TRUE(SameBits(s.out, Truth(home, s)));
}

// Never done, and says so only at the deadline.
class LateLane : public CpuLane {
 public:
  bool up() const override { return true; }
  bool Publish(const CpuJob&) override {
    ++jobs;
    return true;
  }
  CpuResult Wait(Deadline deadline) override {
    while (!deadline.Passed()) std::this_thread::yield();
    return {CpuOutcome::kLate};
  }
  void LetGo() override {}
  int jobs = 0;
};

TEST(LaneExecutor, ALaneThatIsAlwaysLateIsSoonLeftAlone) {
  const TinyHome tiny({});
  const HomeView home = tiny.view();
  LateLane lane;
  ExecutorOptions options;
  options.max_slots = 1;
  options.admission = cache::Admission::kNever;
  options.ct_a = 0.001;
  options.ct_b = 0.001;
  options.ct_tzc = 0.2;  // so that the first jobs go to the CPU
  options.least_cpu_deadline = std::chrono::milliseconds(20);
  LaneExecutor executor(home, TestBackend(), options, &lane);
  std::mt19937 random(9);
  for (int i = 0; i < 200; ++i) {
    Step s(home, i % 3, 1, random);
    ASSERT_TRUE(executor.BeginDecode(s.step).ok());
    ASSERT_TRUE(executor.FinishDecode(s.step).ok());
    EXPECT_TRUE(SameBits(s.out, Truth(home, s)));
  }
  EXPECT_GT(lane.jobs, 0);
  EXPECT_LT(lane.jobs, 40);
  EXPECT_EQ(executor.stats().cpu_timeouts, static_cast<uint64_t>(lane.jobs));
}

TEST(LaneExecutor, LargeChunksAreStagedOneLayerAhead) {
  const TinyHome tiny({.layers = 4});
  const HomeView home = tiny.view();
  ExecutorOptions options;
  options.max_slots = 48;  // of 64 experts: too few to hold all, enough to lend two buffers
  LaneExecutor executor(home, TestBackend(), options, nullptr);
  std::mt19937 random(1);
  for (int layer = 0; layer < 4; ++layer) {
    Step s(home, layer, 64, random);
    ASSERT_TRUE(executor.Prefill(s.step, layer < 3 ? layer + 1 : -1, nullptr).ok());
    if (layer < 3) {
      EXPECT_GT(executor.stats().slots_lent, 0u);
    }
  }
  EXPECT_GT(executor.stats().picks.staged, 0u);
  EXPECT_EQ(executor.stats().slots_lent, 0u);
}

TEST(LaneExecutor, ActivationsAndStagingTogetherLeaveEveryEighthSlot) {
  kernels::MemoryOps memory = *TestBackend().memory;
  memory.is_host = false;  // only where memory is short are activations lent
  kernels::Backend device = TestBackend();
  device.memory = &memory;
  const TinyHome tiny({.layers = 4});
  const HomeView home = tiny.view();
  for (const int slots : {24, 40, 48}) {
    for (const int activations : {slots / 4, slots / 2, slots * 3 / 4}) {
      ExecutorOptions options;
      options.max_slots = slots;
      LaneExecutor executor(home, device, options, nullptr);
      ASSERT_NE(executor.LendActivations(static_cast<uint64_t>(activations) * home.record_stride()), nullptr);
      std::mt19937 random(1);
      Step chunk(home, 0, 64, random);
      ASSERT_TRUE(executor.Prefill(chunk.step, 1, nullptr).ok());
      EXPECT_GE(executor.stats().slots_lent, static_cast<uint64_t>(activations));
      EXPECT_LE(executor.stats().slots_lent, static_cast<uint64_t>(slots * 7 / 8)) << activations << " of " << slots;
    }
  }
}

TEST(LaneExecutor, AColdCacheThatHoldsEverythingIsFilledByPrefill) {
  const TinyHome tiny({});
  const HomeView home = tiny.view();
  LaneExecutor executor(home, TestBackend(), {}, nullptr);
  std::mt19937 random(1);
  for (int layer = 0; layer < 3; ++layer) {
    Step s(home, layer, 64, random);
    ASSERT_TRUE(executor.Prefill(s.step, layer < 2 ? layer + 1 : -1, nullptr).ok());
  }
  EXPECT_EQ(executor.stats().slots_used, uint64_t{3} * 16);
  Step s(home, 1, 2, random);
  ASSERT_TRUE(executor.BeginDecode(s.step).ok());
  ASSERT_TRUE(executor.FinishDecode(s.step).ok());
  EXPECT_EQ(executor.stats().cache_misses, 0u);
}

TEST(LaneExecutor, ACancelledPrefillGivesItsSlotsBack) {
  const TinyHome tiny({.layers = 4});
  const HomeView home = tiny.view();
  ExecutorOptions options;
  options.max_slots = 48;
  LaneExecutor executor(home, TestBackend(), options, nullptr);
  std::mt19937 random(1);
  Step first(home, 0, 64, random), second(home, 1, 64, random);
  ASSERT_TRUE(executor.Prefill(first.step, 1, [] { return false; }).ok());
  ASSERT_GT(executor.stats().slots_lent, 0u);
  EXPECT_EQ(executor.Prefill(second.step, 2, [] { return true; }).code(), StatusCode::kCancelled);
  EXPECT_EQ(executor.stats().slots_lent, 0u);
}

TEST(LaneExecutor, APrefillThatIsGivenUpLosesItsSlotsToDecode) {
  const TinyHome tiny({.layers = 4});
  const HomeView home = tiny.view();
  ExecutorOptions options;
  options.max_slots = 48;
  LaneExecutor executor(home, TestBackend(), options, nullptr);
  std::mt19937 random(1);
  Step chunk(home, 0, 64, random);
  ASSERT_TRUE(executor.Prefill(chunk.step, 1, nullptr).ok());
  ASSERT_GT(executor.stats().slots_lent, 0u);
  for (int i = 0; i < 20; ++i) {
    Step s(home, i % 4, 1, random);
    ASSERT_TRUE(executor.BeginDecode(s.step).ok());
    ASSERT_TRUE(executor.FinishDecode(s.step).ok());
    EXPECT_TRUE(SameBits(s.out, Truth(home, s)));
  }
  EXPECT_EQ(executor.stats().slots_lent, 0u);
}

// Copies the first record of each batch and no other.
class StuckCopies : public CopyEngine {
 public:
  void Start(int, std::vector<Copy> copies) override {
    if (!copies.empty()) std::memcpy(copies[0].to, copies[0].from, copies[0].bytes);
  }
  bool WaitFor(int, size_t index, Deadline) override { return index == 0; }
  void Stop(int) override {}
};

int64_t picks_computed;

void CountPicks(void* stream, const kernels::ExpertBatchArgs& args) {
  for (kernels::Dim i = 0; i < args.job_count; ++i) picks_computed += args.jobs[i].picks;
  TestBackend().expert_batch(stream, args);
}

TEST(PrefillLane, WhatACancelledPromptLeftUncomputedIsForgotten) {
  const TinyHome tiny({.layers = 4});
  const HomeView home = tiny.view();
  kernels::Backend backend = TestBackend();
  backend.expert_batch = &CountPicks;
  ExpertCache cache(home, 48, backend);
  LaneStats stats;
  PrefillLane lane(home, backend, cache, stats, {}, std::make_unique<StuckCopies>());
  std::mt19937 random(1);
  Step left(home, 0, 64, random), next(home, 0, 2, random);
  int looks = 0;
  const auto leaves = [&] { return ++looks > 1; };  // once the second record is waited for
  ASSERT_EQ(lane.Run(left.step, -1, leaves).code(), StatusCode::kCancelled);
  picks_computed = 0;
  ASSERT_TRUE(lane.Run(next.step, -1, nullptr).ok());
  EXPECT_EQ(picks_computed, 2 * kTopK);
  EXPECT_TRUE(SameBits(next.out, Truth(home, next)));
}

}  // namespace
}  // namespace hearth
