#include "gpu_worker/scheduler/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "gpu_worker/scheduler/counter_random.h"

namespace hearth {
namespace {

std::vector<float> RandomLogits(size_t count, uint64_t seed) {
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i) {
    // Coarse steps make ties.
    logits[i] = std::round(static_cast<float>((UniformAt(seed, i) - 0.5) * 16) * 4) / 4;
  }
  return logits;
}

int32_t Sample(const std::vector<float>& logits, const SamplingParams& params, uint64_t position = 0,
               const TokenHistory& history = {}) {
  SamplerScratch scratch;
  return SampleToken(logits, params, history, position, scratch);
}

// The same by sorting everything.
int32_t BruteForce(const std::vector<float>& logits, const SamplingParams& p, uint64_t position) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  if (p.top_k > 0) ids.resize(std::min(ids.size(), static_cast<size_t>(p.top_k)));
  std::vector<double> weights;
  double total = 0;
  const double best = logits[static_cast<size_t>(ids.front())];
  for (int32_t id : ids) {
    weights.push_back(std::exp((static_cast<double>(logits[static_cast<size_t>(id)]) - best) / p.temperature));
    total += weights.back();
  }
  size_t kept = 0;
  double sum = 0;
  while (kept < ids.size() && (kept == 0 || (sum < p.top_p * total && weights[kept] >= p.min_p)))
    sum += weights[kept++];
  const double target = UniformAt(p.seed, position) * sum;
  double reached = 0;
  for (size_t i = 0; i < kept; ++i) {
    reached += weights[i];
    if (target < reached) return ids[i];
  }
  return ids[kept - 1];
}

TEST(Sampler, GreedyTakesTheLowestOfEqualIds) {
  SamplingParams greedy;
  greedy.temperature = 0;
  EXPECT_EQ(Sample({1, 3, 2, 3, 3}, greedy), 1);
  EXPECT_EQ(Sample({-5}, greedy), 0);
}

TEST(Sampler, RefusesRowsThatMeanNothing) {
  SamplingParams params;
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Sample({1, std::nanf(""), 2}, params), -1);
  EXPECT_EQ(Sample({-inf, -inf}, params), -1);
  EXPECT_EQ(Sample({1, inf}, params), -1);
  EXPECT_EQ(Sample({}, params), -1);
}

TEST(Sampler, AgreesWithSortingEverything) {
  for (uint64_t round = 0; round < 3000; ++round) {
    const std::vector<float> logits = RandomLogits(3 + round % 200, round);
    SamplingParams p;
    p.seed = round;
    p.temperature = static_cast<float>(0.05 + 2 * UniformAt(1, round));
    if (round % 2) p.top_p = static_cast<float>(0.02 + 0.97 * UniformAt(2, round));
    if (round % 3 == 0) p.top_k = static_cast<int32_t>(1 + round % 17);
    if (round % 5 == 0) p.min_p = static_cast<float>(UniformAt(3, round));
    if (p.top_p == 1 && p.top_k == 0 && p.min_p == 0) continue;  // drawn in the order of ids instead
    EXPECT_EQ(Sample(logits, p, round * 7), BruteForce(logits, p, round * 7)) << "round " << round;
  }
}

TEST(Sampler, FollowsTheDistribution) {
  const std::vector<float> logits = {0, 1, 2, -1};
  SamplingParams p;
  p.temperature = 0.7f;
  p.seed = 5;
  double total = 0;
  for (float l : logits) total += std::exp(l / 0.7);
  std::vector<int> count(logits.size());
  constexpr int kDraws = 40000;
  for (uint64_t i = 0; i < kDraws; ++i) ++count[static_cast<size_t>(Sample(logits, p, i))];
  for (size_t i = 0; i < logits.size(); ++i) {
    const double expected = std::exp(logits[i] / 0.7) / total;
    EXPECT_NEAR(count[i] / static_cast<double>(kDraws), expected, 5 * std::sqrt(expected / kDraws)) << i;
  }
}

TEST(Sampler, DependsOnSeedAndPositionOnly) {
  const std::vector<float> logits = RandomLogits(500, 9);
  SamplingParams p;
  p.seed = 77;
  SamplerScratch fresh, used;
  SampleToken(RandomLogits(900, 1), p, {}, 3, used);
  std::set<int32_t> by_position, by_seed;
  for (uint64_t position = 0; position < 50; ++position) {
    const int32_t id = SampleToken(logits, p, {}, position, fresh);
    EXPECT_EQ(id, SampleToken(logits, p, {}, position, used));
    by_position.insert(id);
    SamplingParams other = p;
    other.seed = position;
    by_seed.insert(SampleToken(logits, other, {}, 0, fresh));
  }
  EXPECT_GT(by_position.size(), 5u);
  EXPECT_GT(by_seed.size(), 5u);
}

TEST(Sampler, PenaltiesMoveTheRightIds) {
  SamplingParams p;
  p.temperature = 0;
  TokenHistory history;
  history.prompt = {0};
  history.generated = {{1, 3}};

  p.repetition_penalty = 2;  // 0: 4 -> 2, 1: 3.5 -> 1.75; 2 is new
  EXPECT_EQ(Sample({4, 3.5f, 2.5f}, p, 0, history), 2);
  EXPECT_EQ(Sample({-1, -1.1f, -1.5f}, p, 0, history), 2);  // negative logits are multiplied
  p.repetition_penalty = 1;

  p.presence_penalty = 1;  // only what was generated, once
  EXPECT_EQ(Sample({0, 0.9f, -0.5f}, p, 0, history), 0);
  EXPECT_EQ(Sample({0, 1.1f, -0.5f}, p, 0, history), 1);
  p.presence_penalty = 0;

  p.frequency_penalty = 1;  // three times
  EXPECT_EQ(Sample({0, 2.9f, -0.5f}, p, 0, history), 0);
  EXPECT_EQ(Sample({0, 3.1f, -0.5f}, p, 0, history), 1);
}

TEST(Sampler, AnIdInPromptAndOutputIsPunishedOnce) {
  SamplingParams p;
  p.temperature = 0;
  p.repetition_penalty = 2;
  TokenHistory history;
  history.prompt = {0};
  history.generated = {{0, 1}};
  EXPECT_EQ(Sample({4, 1.5f}, p, 0, history), 0);  // 4 / 2, not 4 / 4
}

TEST(Sampler, BiasShiftsAndBans) {
  SamplingParams p;
  p.temperature = 0;
  p.logit_bias = {{0, -100.0f}, {2, 1.5f}};
  EXPECT_EQ(Sample({9, 1, 0}, p), 2);
  p.logit_bias = {{0, -100.0f}};
  p.temperature = 2;
  for (uint64_t position = 0; position < 300; ++position) EXPECT_NE(Sample({9, 1, 0}, p, position), 0);
}

TEST(Sampler, TinyTemperatureIsGreedy) {
  SamplingParams p;
  p.temperature = 1e-30f;
  for (uint64_t position = 0; position < 100; ++position) EXPECT_EQ(Sample({1, 2, 1.999f}, p, position), 1);
}

}  // namespace
}  // namespace hearth
