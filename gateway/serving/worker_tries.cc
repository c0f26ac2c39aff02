#include "gateway/serving/worker_tries.h"

#include "common/log/log.h"

namespace hearth::serving {

WorkerTries::WorkerTries(const Services& services, std::string request_id, std::string session)
    : services_(services),
      request_id_(std::move(request_id)),
      session_(std::move(session)),
      worker_(services.workers.Pick(session_).value_or(0)),
      tried_{worker_} {}

bool WorkerTries::Next() {
  Hint();
  const std::optional<size_t> next = services_.workers.Pick(session_, tried_);
  if (!next) return false;
  Log(LogLevel::kWarning, "worker_changed",
      {{"request", request_id_},
       {"from", services_.workers.targets()[worker_]},
       {"to", services_.workers.targets()[*next]}});
  worker_ = *next;
  tried_.push_back(worker_);
  return true;
}

Status WorkerTries::Failure(Status status, bool client_left) const {
  if (status.code() == StatusCode::kUnavailable) {
    return Unavailable("the worker is not available: ", status.message());
  }
  if (status.code() == StatusCode::kCancelled && !client_left) {
    return Unavailable("the worker ended the request: ", status.message());
  }
  if (status.code() == StatusCode::kDeadlineExceeded) return TookTooLong(services_);
  return status;
}

Status DrainIsOver() {
  return Unavailable("the gateway is stopping and waits for running answers no longer (--drain-timeout); try again");
}

}  // namespace hearth::serving
