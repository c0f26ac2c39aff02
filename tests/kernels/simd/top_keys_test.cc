#include "kernels/simd/top_keys.h"

#include <limits>
#include <numeric>

#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

TEST(TopKeys, LargerScoresComeFirstAndZerosAreEqual) {
  EXPECT_EQ(RankKey(-0.0f, 3), RankKey(0.0f, 3));
  EXPECT_LT(RankKey(-0.0f, 3), RankKey(0.0f, 4));
  const float falling[] = {
      std::numeric_limits<float>::infinity(), 3e38f, 2.0f, 1.0f, 1e-45f, 0.0f, -1e-45f, -1.0f, -2.0f};
  for (size_t i = 1; i < std::size(falling); ++i) {
    EXPECT_LT(RankKey(falling[i - 1], 100), RankKey(falling[i], 0)) << falling[i];
  }
}

TEST(TopKeys, KeepsTheBestInAscendingOrder) {
  Numbers numbers(1);
  for (int64_t count : {1, 2, 7, 100}) {
    std::vector<uint64_t> keys;
    std::vector<std::pair<float, int32_t>> order;
    for (int64_t i = 0; i < count; ++i) {
      const float score = static_cast<float>(numbers.Below(10)) - 5.0f;  // many ties
      keys.push_back(RankKey(score, static_cast<uint32_t>(i)));
      order.emplace_back(-score, static_cast<int32_t>(i));
    }
    std::sort(order.begin(), order.end());
    for (int64_t kept : {int64_t{1}, (count + 1) / 2, count}) {
      std::vector<int32_t> want, got(kept, -1);
      for (int64_t i = 0; i < kept; ++i) want.push_back(order[i].second);
      std::sort(want.begin(), want.end());
      std::vector<uint64_t> copy = keys;
      TopIndicesAscending(copy.data(), count, kept, got.data());
      EXPECT_EQ(got, want) << kept << " of " << count;
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
