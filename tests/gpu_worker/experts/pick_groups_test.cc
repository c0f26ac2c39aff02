#include "gpu_worker/experts/pick_groups.h"

#include <gtest/gtest.h>

#include <vector>

namespace hearth {
namespace {

TEST(PickGroups, SortsByExpertAndKeepsEveryPick) {
  const std::vector<int32_t> ids = {1, 4, 0, 4, 1, 2};  // 3 rows of 2
  PickGroups picks;
  picks.Build(ids.data(), 3, 2, 6);
  ASSERT_EQ(picks.groups().size(), 4u);
  const std::vector<int32_t> experts = {0, 1, 2, 4}, counts = {1, 2, 1, 2};
  for (size_t g = 0; g < 4; ++g) {
    EXPECT_EQ(picks.groups()[g].expert, experts[g]);
    EXPECT_EQ(picks.groups()[g].picks, counts[g]);
    for (int32_t k = 0; k < counts[g]; ++k) {
      const int32_t out_row = picks.out_rows(picks.groups()[g])[static_cast<size_t>(k)];
      EXPECT_EQ(ids[static_cast<size_t>(out_row)], experts[g]);
      EXPECT_EQ(picks.x_rows(picks.groups()[g])[static_cast<size_t>(k)], out_row / 2);
    }
  }
  EXPECT_EQ(picks.picks(), 6);
}

TEST(PickGroups, ForgetsTheStepBefore) {
  const std::vector<int32_t> many = {0, 1, 2, 3}, few = {3};
  PickGroups picks;
  picks.Build(many.data(), 2, 2, 4);
  picks.Build(few.data(), 1, 1, 4);
  ASSERT_EQ(picks.groups().size(), 1u);
  EXPECT_EQ(picks.groups()[0].expert, 3);
  EXPECT_EQ(picks.out_rows(picks.groups()[0])[0], 0);
}

}  // namespace
}  // namespace hearth
