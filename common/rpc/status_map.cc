#include "common/rpc/status_map.h"

#include <string_view>

namespace hearth {
namespace {

struct CodePair {
  StatusCode ours;
  grpc::StatusCode grpc;
};

// One row for each of our codes; ToGrpc() and FromGrpc() both read it.
constexpr CodePair kCodes[] = {
    {StatusCode::kOk, grpc::StatusCode::OK},
    {StatusCode::kCancelled, grpc::StatusCode::CANCELLED},
    {StatusCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT},
    {StatusCode::kDeadlineExceeded, grpc::StatusCode::DEADLINE_EXCEEDED},
    {StatusCode::kNotFound, grpc::StatusCode::NOT_FOUND},
    {StatusCode::kResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED},
    {StatusCode::kFailedPrecondition, grpc::StatusCode::FAILED_PRECONDITION},
    {StatusCode::kInternal, grpc::StatusCode::INTERNAL},
    {StatusCode::kUnavailable, grpc::StatusCode::UNAVAILABLE},
};

// Codes that only a peer or gRPC itself sends.
constexpr CodePair kForeignCodes[] = {
    {StatusCode::kInvalidArgument, grpc::StatusCode::OUT_OF_RANGE},
    {StatusCode::kFailedPrecondition, grpc::StatusCode::ALREADY_EXISTS},
    {StatusCode::kUnavailable, grpc::StatusCode::ABORTED},
};

constexpr std::string_view kParamKey = "param=";

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  for (const CodePair& pair : kCodes) {
    if (pair.ours != status.code()) continue;
    if (status.ok()) return grpc::Status::OK;
    const std::string details = status.param().empty() ? "" : std::string(kParamKey) + status.param();
    return {pair.grpc, status.message(), details};
  }
  return {grpc::StatusCode::INTERNAL, status.message()};
}

Status FromGrpc(const grpc::Status& status) {
  StatusCode code = StatusCode::kInternal;
  for (const CodePair& pair : kForeignCodes) {
    if (pair.grpc == status.error_code()) code = pair.ours;
  }
  for (const CodePair& pair : kCodes) {
    if (pair.grpc == status.error_code()) code = pair.ours;
  }
  if (code == StatusCode::kOk) return Status::Ok();
  const std::string details = status.error_details();
  const bool has_param = details.starts_with(kParamKey);
  return Status(code, status.error_message()).WithParam(has_param ? details.substr(kParamKey.size()) : "");
}

}  // namespace hearth
