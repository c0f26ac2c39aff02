#include "common/log/repeat_filter.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

using namespace std::chrono_literals;

TEST(RepeatFilter, PrintsTheFirstCountsTheRestAndTellsLater) {
  RepeatFilter filter;
  const RepeatFilter::Time start{1h};
  EXPECT_TRUE(filter.See("a", start).print);
  EXPECT_FALSE(filter.See("a", start + 1s).print);
  EXPECT_FALSE(filter.See("a", start + 9s).print);
  EXPECT_TRUE(filter.See("b", start + 9s).print);
  const RepeatFilter::Verdict later = filter.See("a", start + 10s);
  EXPECT_TRUE(later.print);
  EXPECT_EQ(later.swallowed, 2u);
  EXPECT_FALSE(filter.See("a", start + 11s).print);
}

TEST(RepeatFilter, GivesCountsNobodyHasSeen) {
  RepeatFilter filter;
  const RepeatFilter::Time start{1h};
  filter.See("a", start);
  filter.See("a", start + 1s);
  filter.See("b", start);
  EXPECT_TRUE(filter.TakeExpired(start + 5s).empty());
  const auto held = filter.TakeExpired(start + 10s);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].key, "a");
  EXPECT_EQ(held[0].swallowed, 1u);
  filter.See("c", start);
  filter.See("c", start);
  EXPECT_EQ(filter.TakeAll().size(), 1u);
  EXPECT_TRUE(filter.TakeAll().empty());
}

TEST(RepeatFilter, PrintsWhatItHasNoRoomToRemember) {
  RepeatFilter filter;
  const RepeatFilter::Time start{1h};
  for (size_t i = 0; i < RepeatFilter::kMaxKeys; ++i) EXPECT_TRUE(filter.See(std::to_string(i), start).print);
  EXPECT_TRUE(filter.See("new", start).print);
  EXPECT_TRUE(filter.See("new", start).print);
  EXPECT_FALSE(filter.See("0", start).print);
}

}  // namespace
}  // namespace hearth
