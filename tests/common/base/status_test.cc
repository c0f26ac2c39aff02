#include "common/base/status.h"

#include <gtest/gtest.h>

#include "common/base/deadline.h"
#include "common/base/result.h"

namespace hearth {
namespace {

TEST(Status, CarriesCodeMessageAndParam) {
  EXPECT_TRUE(Status::Ok().ok());
  EXPECT_EQ(Status::Ok().ToString(), "OK");
  const Status status = InvalidArgument("temperature is ", -1, ", expected 0 to 2").WithParam("temperature");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.ToString(), "INVALID_ARGUMENT: temperature is -1, expected 0 to 2");
  EXPECT_EQ(status.param(), "temperature");
}

TEST(Result, HoldsAValueOrAReason) {
  const Result<int> good = 5;
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 5);
  const Result<int> bad = NotFound("no such file");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), StatusCode::kNotFound);
  EXPECT_DEATH(static_cast<void>(*bad), "no such file");
}

TEST(Deadline, PassesOnlyWhenItsTimeIsOver) {
  EXPECT_FALSE(Deadline::Never().Passed());
  EXPECT_TRUE(Deadline::After(Deadline::Clock::duration::zero()).Passed());
  EXPECT_FALSE(Deadline::After(std::chrono::hours(1)).Passed());
  EXPECT_EQ(Deadline::At(Deadline::Clock::time_point()).Left(), Deadline::Clock::duration::zero());
}

}  // namespace
}  // namespace hearth
