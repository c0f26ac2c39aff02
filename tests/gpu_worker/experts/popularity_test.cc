#include "gpu_worker/experts/popularity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gpu_worker/experts/lane_executor.h"
#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

using testing::TinyHome;

TEST(Popularity, BlendWeighsByTokens) {
  const Popularity older{.layers = 1, .experts = 2, .tokens = 300, .picks = {1, 0}};
  const Popularity newer{.layers = 1, .experts = 2, .tokens = 100, .picks = {0, 1}};
  const Popularity both = Blend(older, newer);
  EXPECT_EQ(both.tokens, 400);
  EXPECT_EQ(both.picks, (std::vector<double>{0.75, 0.25}));
  EXPECT_EQ(Blend({}, newer).picks, newer.picks);
}

TEST(Popularity, WhatWasLongAgoFades) {
  const Popularity older{.layers = 1, .experts = 1, .tokens = 1e9, .picks = {1}};
  const Popularity newer{.layers = 1, .experts = 1, .tokens = kPopularityMemory, .picks = {0}};
  EXPECT_EQ(Blend(older, newer).picks[0], 0.5);
  EXPECT_EQ(Blend(older, newer).tokens, 2 * kPopularityMemory);
}

TEST(Popularity, MostPopularAreThoseThatWerePicked) {
  const Popularity p{.layers = 2, .experts = 3, .tokens = 10, .picks = {0.5, 0, 0.1, 0.7, 0.5, 0}};
  EXPECT_EQ(MostPopular(p), (std::vector<int32_t>{3, 0, 4, 2}));
  EXPECT_TRUE(MostPopular({}).empty());
}

// A step of one row that picks the experts.
void Decode(LaneExecutor& executor, const HomeView& home, int layer, std::vector<int32_t> ids) {
  const std::vector<kernels::Real> x(home.hidden(), 0.01f);
  std::vector<kernels::Real> out(ids.size() * home.hidden());
  const MoeStep step{layer, x.data(), x.data(), ids.data(), 1, static_cast<int>(ids.size()), out.data()};
  ASSERT_TRUE(executor.BeginDecode(step).ok());
  ASSERT_TRUE(executor.FinishDecode(step).ok());
}

TEST(Popularity, TheNextRunStartsFromWhatThisOneSaw) {
  const TinyHome tiny({});
  const HomeView home = tiny.view();
  ExecutorOptions options;
  options.max_slots = 6;
  LaneExecutor first(home, kernels::RefBackend(), options, nullptr);
  Decode(first, home, 2, {0, 1, 2, 3});  // before the count begins
  first.WarmStart({});
  for (int token = 0; token < 4; ++token) {
    for (int layer = 0; layer < 3; ++layer) Decode(first, home, layer, {layer, 7, 8 + token, token == 0 ? 13 : 14});
  }
  const Popularity seen = first.popularity();
  EXPECT_NEAR(seen.tokens, 4, 1e-9);
  EXPECT_NEAR(seen.picks[7], 1, 1e-9);
  EXPECT_NEAR(seen.picks[16 + 14], 0.75, 1e-9);
  EXPECT_EQ(seen.picks[2 * 16 + 3], 0);

  LaneExecutor second(home, kernels::RefBackend(), options, nullptr);
  second.WarmStart(seen);
  EXPECT_EQ(second.stats().slots_used, 6u);
  SlotCheck verified;
  EXPECT_FALSE(second.Verify(0, verified)) << "six small records are one part";
  EXPECT_EQ(verified.compared, 6u) << "nothing is pinned";
  EXPECT_EQ(verified.different, 0u);
  EXPECT_EQ(second.popularity().tokens, 0) << "earlier runs are not counted as this one's";
  for (int layer = 0; layer < 3; ++layer) Decode(second, home, layer, {layer, 7});
  EXPECT_EQ(second.stats().cache_hits, 6u);
  EXPECT_EQ(second.stats().cache_misses, 0u);
}

TEST(Popularity, ExpectedPicksAreWhatTrafficWouldHaveTaught) {
  CacheTables taught(1, 4, 2), told(1, 4, 2);
  // A pick every second token until the count has settled.
  for (int token = 0; token < 4000; ++token) {
    cache::AdvanceTime(taught.view(), 1);
    taught.view().state->adapt = told.view().state->adapt = false;
    if (token % 2 == 1) cache::Note(taught.view(), 1, 1);
  }
  cache::Expect(told.view(), 1, 0.5);
  cache::Expect(told.view(), 2, 0);
  const double count = cache::CountAt(taught.view().score[1], taught.view().state->clock.now);
  EXPECT_NEAR(cache::CountAt(told.view().score[1], told.view().state->clock.now), count, 0.02 * count);
  EXPECT_EQ(told.view().score[2], cache::kNeverSeen);
}

}  // namespace
}  // namespace hearth
