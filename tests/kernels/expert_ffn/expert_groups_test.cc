#include "kernels/expert_ffn/expert_groups.h"

#include <gtest/gtest.h>

#include <random>

namespace hearth::kernels {
namespace {

TEST(ExpertGroups, EveryPickOnceInOrderWithinTheLimits) {
  std::mt19937 rng(1);
  for (int trial = 0; trial < 200; ++trial) {
    const ExpertGroupLimits limits{.experts = static_cast<int>(1 + rng() % 9),
                                   .picks = static_cast<Dim>(1 + rng() % 500),
                                   .tile_rows = 128,
                                   .expert_tiles = static_cast<Dim>(1 + rng() % 32),
                                   .slots = static_cast<Dim>(1 + rng() % 140)};
    std::vector<Dim> picks(rng() % 40);
    for (Dim& p : picks) p = rng() % 3 == 0 ? 0 : static_cast<Dim>(rng() % 700);
    size_t job = 0;
    Dim next = 0;
    for (const ExpertGroup& group : PlanExpertGroups(picks, limits)) {
      ASSERT_FALSE(group.empty());
      ASSERT_LE(static_cast<int>(group.size()), limits.experts);
      Dim sum = 0;
      for (const ExpertPiece& piece : group) {
        while (next == picks[job]) ++job, next = 0;
        ASSERT_EQ(piece.job, static_cast<int>(job));
        ASSERT_EQ(piece.first, next);
        ASSERT_GT(piece.picks, 0);
        next += piece.picks;
        ASSERT_LE(next, picks[job]);
        sum += piece.picks;
      }
      ASSERT_LE(sum, limits.picks);
    }
    while (job < picks.size() && next == picks[job]) ++job, next = 0;
    ASSERT_EQ(job, picks.size());
  }
}

TEST(ExpertGroups, AThinLastRoundIsLeftToTheNextGroup) {
  const ExpertGroupLimits limits{.experts = 8, .picks = 4096, .tile_rows = 128, .expert_tiles = 16, .slots = 132};
  // 7 experts of 2 row tiles and one of 3: 272 tiles are 2 rounds of 132 and 8 more.
  std::vector<Dim> picks(16, 227);
  picks[3] = 300;
  const auto groups = PlanExpertGroups(picks, limits);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].size(), 7u);
  EXPECT_EQ(groups[1].size(), 8u);  // 256 tiles
  EXPECT_EQ(groups[2].size(), 1u);
}

}  // namespace
}  // namespace hearth::kernels
