#include "gpu_worker/scheduler/log_probs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace hearth {
namespace {

TEST(RowLogProbs, SumToOneAlsoForLargeLogits) {
  std::vector<float> logits;
  for (int i = 0; i < 4096; ++i) logits.push_back(static_cast<float>(1000 + 8 * std::sin(i)));
  const RowLogProbs row(logits);
  ASSERT_TRUE(row.finite());
  double sum = 0;
  for (int32_t id = 0; id < 4096; ++id) sum += std::exp(static_cast<double>(row.Of(id)));
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(RowLogProbs, KnownValues) {
  const std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f)};
  const RowLogProbs row(logits);
  EXPECT_NEAR(row.Of(0), std::log(1 / 8.0), 1e-6);
  EXPECT_NEAR(row.Of(2), std::log(5 / 8.0), 1e-6);
}

TEST(RowLogProbs, TopIsFallingWithTiesByAscendingId) {
  const std::vector<float> logits = {1, 3, 2, 3, 0, 2};
  const RowLogProbs row(logits);
  std::vector<int32_t> ids;
  for (const TokenLogprob& entry : row.Top(5)) {
    ids.push_back(entry.id);
    EXPECT_EQ(entry.logprob, row.Of(entry.id));
  }
  EXPECT_EQ(ids, (std::vector<int32_t>{1, 3, 2, 5, 0}));
  EXPECT_EQ(row.Top(100).size(), 6u);
  EXPECT_TRUE(row.Top(0).empty());
}

TEST(RowLogProbs, MinusInfinityIsAnImpossibleId) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {0, -inf};
  const RowLogProbs row(logits);
  ASSERT_TRUE(row.finite());
  EXPECT_EQ(row.Of(0), 0);
  EXPECT_EQ(row.Of(1), -inf);
}

TEST(RowLogProbs, NoticesRowsThatMeanNothing) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> nan = {0, std::nanf("")}, none = {-inf, -inf}, infinite = {0, inf};
  EXPECT_FALSE(RowLogProbs(nan).finite());
  EXPECT_FALSE(RowLogProbs(none).finite());
  EXPECT_FALSE(RowLogProbs(infinite).finite());
}

TEST(LogitsHash, ChangesWithTheSmallestChange) {
  std::vector<float> logits(100, 1.0f);
  const uint64_t hash = LogitsHash(logits);
  EXPECT_EQ(LogitsHash(logits), hash);
  logits[50] = std::nextafter(1.0f, 2.0f);
  EXPECT_NE(LogitsHash(logits), hash);
}

}  // namespace
}  // namespace hearth
