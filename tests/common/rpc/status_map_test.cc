#include "common/rpc/status_map.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(StatusMap, EveryCodeComesBack) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kUnavailable); ++code) {
    const Status status(static_cast<StatusCode>(code), code == 0 ? "" : "why");
    const grpc::Status wire = ToGrpc(status);
    EXPECT_EQ(wire.ok(), status.ok());
    EXPECT_EQ(FromGrpc(wire).code(), status.code()) << StatusCodeName(status.code());
    EXPECT_EQ(FromGrpc(wire).message(), status.message());
  }
}

TEST(StatusMap, NamesAreThoseOfGrpc) {
  EXPECT_EQ(ToGrpc(InvalidArgument("x")).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ToGrpc(ResourceExhausted("x")).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ToGrpc(Unavailable("x")).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(StatusMap, CarriesTheParam) {
  const grpc::Status wire = ToGrpc(InvalidArgument("too hot").WithParam("temperature"));
  EXPECT_EQ(wire.error_details(), "param=temperature");
  EXPECT_EQ(FromGrpc(wire).param(), "temperature");
  EXPECT_EQ(FromGrpc(ToGrpc(InvalidArgument("x"))).param(), "");
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "x", "other details")).param(), "");
}

TEST(StatusMap, ForeignCodesBecomeNearOnes) {
  EXPECT_EQ(FromGrpc({grpc::StatusCode::OUT_OF_RANGE, ""}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FromGrpc({grpc::StatusCode::ABORTED, ""}).code(), StatusCode::kUnavailable);
  EXPECT_EQ(FromGrpc({grpc::StatusCode::DATA_LOSS, ""}).code(), StatusCode::kInternal);
  EXPECT_EQ(FromGrpc({grpc::StatusCode::UNKNOWN, ""}).code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace hearth
