#include "gpu_worker/synthetic/router_law.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "gpu_worker/experts/cache_policy.h"
#include "gpu_worker/experts/cache_tables.h"

namespace hearth {
namespace {

TEST(RouterLaw, ProbabilitiesFallAsAPowerOfTheRankAndSumToThePicks) {
  const std::vector<double> p = PickProbabilities(288, 8, 0.7);
  EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 8, 1e-9);
  EXPECT_NEAR(p[0] / p[99], std::pow(100, 0.7), 1e-6);
  for (double even : PickProbabilities(10, 10, 1)) EXPECT_EQ(even, 1);
  for (float bias : RouterBias(64, 8, 0, 1)) EXPECT_EQ(bias, 0);
}

// Routing by these biases at the real shape, token after token, through the cache that serves.
TEST(RouterLaw, ClockThatAdmitsEveryMissHitsAboutThirtyNinePercent) {
  constexpr int kLayers = 42, kExperts = 288, kPicks = 8, kSlots = 1312, kTokens = 1200, kWarm = 400;
  std::vector<std::vector<float>> bias;
  for (int layer = 0; layer < kLayers; ++layer) {
    bias.push_back(RouterBias(kExperts, kPicks, 0.89, static_cast<uint64_t>(layer)));
  }
  CacheTables tables(kLayers, kExperts, kSlots);
  const cache::View view = tables.view();
  std::mt19937_64 random(5);
  std::normal_distribution<double> logit(0, kRouterGain);
  std::vector<std::pair<double, int>> scores(kExperts);
  std::vector<bool> touched(kExperts);
  cache::Counters before;
  for (int token = 0; token < kTokens; ++token) {
    if (token == kWarm) before = view.state->counters;
    for (int layer = 0; layer < kLayers; ++layer) {
      for (int e = 0; e < kExperts; ++e) {
        scores[static_cast<size_t>(e)] = {
            -1 / (1 + std::exp(-logit(random))) - bias[static_cast<size_t>(layer)][static_cast<size_t>(e)], e};
      }
      std::partial_sort(scores.begin(), scores.begin() + kPicks, scores.end());
      std::vector<int32_t> pinned, missed;
      for (int k = 0; k < kPicks; ++k) {
        const int expert = scores[static_cast<size_t>(k)].second;
        if (layer == 0 && token < 1000) touched[static_cast<size_t>(expert)] = true;
        const int32_t key = tables.Key(layer, expert);
        const int32_t slot = cache::Touch(view, key, 1);
        if (slot >= 0) pinned.push_back(slot);
        if (slot < 0) missed.push_back(key);
      }
      for (int32_t key : missed) pinned.push_back(cache::Admit(view, key, cache::Admission::kAlways));
      for (int32_t slot : pinned) cache::Unpin(view, slot);
    }
  }
  const double hits = static_cast<double>(view.state->counters.hits - before.hits);
  const double misses = static_cast<double>(view.state->counters.misses - before.misses);
  EXPECT_NEAR(hits / (hits + misses), 0.39, 0.015);
  EXPECT_GE(std::count(touched.begin(), touched.end(), true), 200);
}

}  // namespace
}  // namespace hearth
