#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "common/base/status.h"
#include "gpu_worker/scheduler/request.h"

namespace hearth {

// Requests that wait for admission, first in, first out; bounded. Thread-safe.
class RequestQueue {
 public:
  explicit RequestQueue(size_t capacity) : capacity_(capacity) {}

  // RESOURCE_EXHAUSTED when full, the closing status when closed.
  Status Push(std::shared_ptr<Request> request);
  // Takes the request out; false when it is not here (any more).
  bool Remove(const Request* request);
  // Takes the front out when `admit` agrees; null when it does not or nothing waits.
  std::shared_ptr<Request> TakeFrontIf(const std::function<bool(const Request&)>& admit);
  // Takes out those that are cancelled or whose deadline is not after `now`.
  std::vector<std::shared_ptr<Request>> TakeDead(Deadline::Clock::time_point now);
  std::vector<std::shared_ptr<Request>> TakeAll();
  Deadline::Clock::time_point EarliestDeadline() const;
  size_t size() const;
  size_t capacity() const { return capacity_; }

  // From now on Push answers `why`.
  void Close(Status why);

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Request>> waiting_;
  Status closed_;
};

}  // namespace hearth
