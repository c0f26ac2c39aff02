#include "bench/engine/exactness_verdict.h"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

namespace hearth {
namespace {

using testing::HasSubstr;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

TEST(ExactnessVerdict, ARepeatedExactRunHasTheSameBits) {
  EXPECT_EQ(WhyNotRepeated({0, 1}), "");
  EXPECT_THAT(WhyNotRepeated({1e-9, 1}), HasSubstr("1e-09 rms apart"));
  EXPECT_NE(WhyNotRepeated({0, 0.999}), "");
  EXPECT_NE(WhyNotRepeated({kNoNumber, 1}), "");
}

TEST(ExactnessVerdict, FastStaysNearExact) {
  EXPECT_EQ(WhyTooFar("fast", {5e-3, 0.98}), "");
  EXPECT_THAT(WhyTooFar("fast", {6e-3, 1}), HasSubstr("fast: logits 0.006 rms from exact"));
  EXPECT_THAT(WhyTooFar("fast", {0, 0.97}), HasSubstr("97 % of the picks equal"));
  EXPECT_NE(WhyTooFar("fast", {kNoNumber, 1}), "");
  EXPECT_NE(WhyTooFar("fast", {0, kNoNumber}), "");
}

TEST(ExactnessVerdict, NoStepWaitsPastItsDeadline) {
  EXPECT_EQ(WhyLate({}, 0.005), "");
  EXPECT_EQ(WhyLate(std::vector<CpuWait>{{0.012, 42}, {0.005, 1}, {0, 0}}, 0.005), "");
  EXPECT_THAT(WhyLate(std::vector<CpuWait>{{0.012, 42}, {0.05, 1}}, 0.005), HasSubstr("step 1 waited 50 ms"));
}

}  // namespace
}  // namespace hearth
