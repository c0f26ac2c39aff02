#include "gpu_worker/experts/look_ahead.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace hearth {
namespace {

using kernels::Real;

TEST(ChooseAhead, TakesTheHeaviestThatAreWanted) {
  const std::vector<int32_t> ids = {3, 5, 9, 2, 5, 7};
  const std::vector<Real> weights = {0.5F, 0.3F, 0.2F, 0.4F, 0.3F, 0.4F};
  const auto all = [](int32_t) { return true; };
  EXPECT_EQ(ChooseAhead(ids.data(), weights.data(), 2, 3, 1, all), std::vector<int32_t>({5})) << "0.3 twice";
  EXPECT_EQ(ChooseAhead(ids.data(), weights.data(), 2, 3, 4, all), std::vector<int32_t>({5, 3, 2, 7}))
      << "ties go to the lower id";
  EXPECT_EQ(ChooseAhead(ids.data(), weights.data(), 2, 3, 2, [](int32_t e) { return e != 5; }),
            std::vector<int32_t>({3, 2}));
  EXPECT_EQ(ChooseAhead(ids.data(), weights.data(), 2, 3, 9, all).size(), 5u);
  EXPECT_TRUE(ChooseAhead(ids.data(), weights.data(), 2, 3, 0, all).empty());
  EXPECT_TRUE(ChooseAhead(ids.data(), weights.data(), 2, 3, 9, [](int32_t) { return false; }).empty());
}

TEST(ChooseAhead, NeverNamesAnExpertTwice) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<int32_t> ids(32);
    std::vector<Real> weights(32);
    for (size_t k = 0; k < ids.size(); ++k) {
      ids[k] = static_cast<int32_t>(random() % 12);
      weights[k] = static_cast<Real>(random() % 5);
    }
    const int most = static_cast<int>(random() % 14);
    const std::vector<int32_t> chosen =
        ChooseAhead(ids.data(), weights.data(), 4, 8, most, [](int32_t e) { return e % 2 == 0; });
    EXPECT_LE(chosen.size(), static_cast<size_t>(most));
    EXPECT_EQ(std::set<int32_t>(chosen.begin(), chosen.end()).size(), chosen.size());
    for (int32_t expert : chosen) EXPECT_EQ(expert % 2, 0);
  }
}

}  // namespace
}  // namespace hearth
