#pragma once

#include <sstream>
#include <string>
#include <utility>

namespace hearth {

// Why a request failed. The order and meaning are gRPC's, so that common/rpc/status_map is a table of equals.
enum class StatusCode {
  kOk,
  kCancelled,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kResourceExhausted,   // a queue or a pool is full; trying again later can help
  kFailedPrecondition,  // cannot succeed for this request, for example a prompt longer than the context
  kInternal,
  kUnavailable,  // loading, draining, or the peer is gone
};

// The outcome of something that may fail because of a request or its surroundings. Broken invariants of our own use
// HEARTH_CHECK instead, and failures while a process comes up throw StartupError.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
  static Status Ok() { return {}; }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // "INVALID_ARGUMENT: temperature is -1, expected 0 to 2"
  std::string ToString() const;

  // Name of the offending request field, "" when no field is to blame. Becomes `param` of the HTTP error object.
  const std::string& param() const { return param_; }
  Status WithParam(std::string param) && {
    param_ = std::move(param);
    return std::move(*this);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string param_;
};

const char* StatusCodeName(StatusCode code);

// Joins any printable values to one text.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <typename... Parts>
Status InvalidArgument(const Parts&... parts) {
  return {StatusCode::kInvalidArgument, StrCat(parts...)};
}
template <typename... Parts>
Status NotFound(const Parts&... parts) {
  return {StatusCode::kNotFound, StrCat(parts...)};
}
template <typename... Parts>
Status ResourceExhausted(const Parts&... parts) {
  return {StatusCode::kResourceExhausted, StrCat(parts...)};
}
template <typename... Parts>
Status FailedPrecondition(const Parts&... parts) {
  return {StatusCode::kFailedPrecondition, StrCat(parts...)};
}
template <typename... Parts>
Status Unavailable(const Parts&... parts) {
  return {StatusCode::kUnavailable, StrCat(parts...)};
}
template <typename... Parts>
Status Internal(const Parts&... parts) {
  return {StatusCode::kInternal, StrCat(parts...)};
}
template <typename... Parts>
Status Cancelled(const Parts&... parts) {
  return {StatusCode::kCancelled, StrCat(parts...)};
}
template <typename... Parts>
Status DeadlineExceeded(const Parts&... parts) {
  return {StatusCode::kDeadlineExceeded, StrCat(parts...)};
}

}  // namespace hearth
