#include "kernels/math/exp.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>

namespace hearth::kernels {
namespace {

TEST(ExpReal, IsWithinOneAndAHalfUlpEverywhere) {
  double worst = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1021) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!(x >= -87.33f && x <= 88.72f)) continue;
    const double exact = std::exp(double{x});
    worst = std::max(worst, std::fabs(ExpReal(x) - exact) / std::ldexp(1.0, std::ilogb(exact) - 23));
  }
  EXPECT_GT(worst, 0.4);  // the loop did look
  EXPECT_LE(worst, 1.5);
}

TEST(ExpReal, KnowsTheEnds) {
  EXPECT_EQ(ExpReal(0.0f), 1.0f);
  EXPECT_EQ(ExpReal(-INFINITY), 0.0f);
  EXPECT_EQ(ExpReal(-1e30f), 0.0f);
  EXPECT_EQ(ExpReal(-87.4f), 0.0f);
  EXPECT_GE(ExpReal(-87.33f), FLT_MIN);
  EXPECT_TRUE(std::isfinite(ExpReal(88.72f)));
  EXPECT_EQ(ExpReal(88.73f), INFINITY);
  EXPECT_EQ(ExpReal(1e30f), INFINITY);
  EXPECT_EQ(ExpReal(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(ExpReal(NAN)));
}

TEST(SigmoidReal, IsStableForLargeArguments) {
  EXPECT_EQ(SigmoidReal(1000.0f), 1.0f);
  EXPECT_EQ(SigmoidReal(-1000.0f), 0.0f);
  EXPECT_EQ(SigmoidReal(0.0f), 0.5f);
  EXPECT_EQ(SiluReal(-1000.0f), 0.0f);
  EXPECT_EQ(SiluReal(1000.0f), 1000.0f);
  for (float x = -80; x < 80; x += 0.37f) {
    const double exact = 1 / (1 + std::exp(-double{x}));
    EXPECT_NEAR(SigmoidReal(x), exact, 3e-7 * exact) << x;
  }
}

}  // namespace
}  // namespace hearth::kernels
