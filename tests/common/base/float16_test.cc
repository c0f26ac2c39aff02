#include "common/base/float16.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hearth {
namespace {

TEST(Float16, EveryHalfSurvivesTheWayUpAndDown) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = F16ToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(F16ToFloat(FloatToF16(value))));
    } else {
      ASSERT_EQ(FloatToF16(value), half) << bits;
    }
  }
}

TEST(Float16, EveryBfloatSurvivesTheWayUpAndDown) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto small = static_cast<uint16_t>(bits);
    const float value = Bf16ToFloat(small);
    if (std::isnan(value)) continue;
    ASSERT_EQ(FloatToBf16(value), small) << bits;
  }
}

// The value between two neighbours goes to the even one, a little more or less to the nearer one.
TEST(Float16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits + 1 < 0x7C00; ++bits) {
    const float low = F16ToFloat(static_cast<uint16_t>(bits)), high = F16ToFloat(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact: halves have 11 bits, floats 24
    ASSERT_EQ(FloatToF16(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(FloatToF16(std::nextafter(middle, low)), bits) << bits;
    ASSERT_EQ(FloatToF16(std::nextafter(middle, high)), bits + 1) << bits;
  }
  EXPECT_EQ(FloatToF16(65519.0f), 0x7BFF);
  EXPECT_EQ(FloatToF16(65520.0f), 0x7C00);
  EXPECT_EQ(FloatToBf16(1.00390625f), 0x3F80);  // 1 + 2^-8: a tie, down to even
  EXPECT_EQ(FloatToBf16(1.01171875f), 0x3F82);  // 1 + 3 * 2^-8: a tie, up to even
}

}  // namespace
}  // namespace hearth
