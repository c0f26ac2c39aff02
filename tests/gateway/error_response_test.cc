#include "gateway/http/error_response.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

TEST(ErrorResponse, MapsEveryStatus) {
  EXPECT_EQ(HttpStatusOf(StatusCode::kInvalidArgument), 400);
  EXPECT_EQ(HttpStatusOf(StatusCode::kFailedPrecondition), 400);
  EXPECT_EQ(HttpStatusOf(StatusCode::kNotFound), 404);
  EXPECT_EQ(HttpStatusOf(StatusCode::kResourceExhausted), 429);
  EXPECT_EQ(HttpStatusOf(StatusCode::kCancelled), 499);
  EXPECT_EQ(HttpStatusOf(StatusCode::kInternal), 500);
  EXPECT_EQ(HttpStatusOf(StatusCode::kUnavailable), 503);
  EXPECT_EQ(HttpStatusOf(StatusCode::kDeadlineExceeded), 504);
  EXPECT_EQ(ErrorBody(InvalidArgument("bad \xff text").WithParam("x")),
            "{\"error\":{\"message\":\"bad \xEF\xBF\xBD text\",\"type\":\"invalid_request_error\",\"param\":\"x\","
            "\"code\":\"invalid_value\"}}");
}

}  // namespace
}  // namespace hearth::http
