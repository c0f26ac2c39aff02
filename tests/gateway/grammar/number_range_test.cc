#include "gateway/grammar/number_range.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "tests/support/accepts.h"

namespace hearth::grammar {
namespace {

using test::Language;
using Bound = std::optional<NumberBound>;

Language Range(const Bound& low, const Bound& high, bool whole) {
  Builder builder;
  builder.Define(0, NumberRange(builder, low, high, whole));
  return Language(builder.Finish());
}

TEST(NumberRange, WholeNumbersNearTheBounds) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const int low = static_cast<int>(random() % 3000) - 1500, high = low + static_cast<int>(random() % 400) + 2;
    const bool low_out = random() % 2, high_out = random() % 2;
    const bool has_low = random() % 4 != 0, has_high = random() % 4 != 0;
    const Language language = Range(has_low ? Bound({std::to_string(low), low_out}) : Bound(),
                                    has_high ? Bound({std::to_string(high), high_out}) : Bound(), true);
    for (int x = low - 120; x < high + 120; ++x) {
      const bool inside =
          (!has_low || (low_out ? x > low : x >= low)) && (!has_high || (high_out ? x < high : x <= high));
      ASSERT_EQ(language.Accepts(std::to_string(x)), inside) << x << " in " << low << ".." << high;
    }
    for (const char* text : {"007", "-0", "+1", "1.0", "1e1", "", "-"}) ASSERT_FALSE(language.Accepts(text)) << text;
  }
}

// Thousandths, so that the expected answer is exact.
std::string Thousandths(int value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%d.%03d", value < 0 ? "-" : "", std::abs(value) / 1000, std::abs(value) % 1000);
  std::string out = text;
  for (int i = 0; i < 3 - digits; ++i) out.pop_back();
  if (digits == 0) out.pop_back();
  return out;
}

TEST(NumberRange, FractionsNearTheBounds) {
  std::mt19937 random(5);
  for (int round = 0; round < 120; ++round) {
    const int low = static_cast<int>(random() % 30000) - 15000, high = low + static_cast<int>(random() % 2500) + 1;
    const bool low_out = random() % 2, high_out = random() % 2;
    const bool has_low = random() % 4 != 0, has_high = random() % 4 != 0;
    const Language language = Range(has_low ? Bound({Thousandths(low, 3), low_out}) : Bound(),
                                    has_high ? Bound({Thousandths(high, 3), high_out}) : Bound(), false);
    for (int x = low - 1100; x < high + 1100; x += 1 + static_cast<int>(random() % 3)) {
      const bool inside =
          (!has_low || (low_out ? x > low : x >= low)) && (!has_high || (high_out ? x < high : x <= high));
      if (x == 0) continue;  // tried below: it has no minus sign
      const bool expected = inside;
      ASSERT_EQ(language.Accepts(Thousandths(x, 3)), expected) << x << " in " << low << ".." << high;
      ASSERT_EQ(language.Accepts(Thousandths(x, 3) + "00"), expected) << x;
      if (x % 1000 == 0) {
        ASSERT_EQ(language.Accepts(Thousandths(x, 0)), expected) << x;
      }
      if (x % 10 == 0) {
        ASSERT_EQ(language.Accepts(Thousandths(x, 2)), expected) << x;
      }
    }
  }
}

TEST(NumberRange, ZeroAndEmptyRanges) {
  EXPECT_TRUE(Range(Bound({"0", false}), Bound({"1", false}), false).Accepts("0"));
  EXPECT_TRUE(Range(Bound({"0", false}), Bound({"1", false}), false).Accepts("0.25"));
  EXPECT_TRUE(Range(Bound({"0", false}), Bound({"1", false}), false).Accepts("1.0"));
  EXPECT_FALSE(Range(Bound({"0", false}), Bound({"1", false}), false).Accepts("1.01"));
  EXPECT_FALSE(Range(Bound({"0", true}), Bound({"1", false}), false).Accepts("0.0"));
  EXPECT_TRUE(Range(Bound({"0.5", false}), Bound({"2.5", false}), true).Accepts("2"));
  EXPECT_FALSE(Range(Bound({"0.5", false}), Bound({"2.5", false}), true).Accepts("0"));
  EXPECT_TRUE(Range(Bound({"-2.5", false}), Bound({"-0.5", false}), true).Accepts("-2"));
  EXPECT_FALSE(Range(Bound({"-2.5", false}), Bound({"-0.5", false}), true).Accepts("-3"));
  Builder builder;
  builder.Define(0, NumberRange(builder, Bound({"1", true}), Bound({"2", true}), true));
  EXPECT_FALSE(builder.Finish().ok()) << "no whole number lies between 1 and 2";
}

}  // namespace
}  // namespace hearth::grammar
