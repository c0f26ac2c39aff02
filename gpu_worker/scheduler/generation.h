#pragma once

#include <memory>
#include <utility>

#include "gpu_worker/scheduler/request.h"

namespace hearth {

class StepLoop;

// The claim of the one who asked on a submitted request. Destroying it cancels what is left of the request.
class Generation {
 public:
  Generation(StepLoop& loop, std::shared_ptr<Request> request, uint32_t queue_position)
      : loop_(&loop), request_(std::move(request)), queue_position_(queue_position) {}
  Generation(Generation&& other) noexcept
      : loop_(other.loop_), request_(std::move(other.request_)), queue_position_(other.queue_position_) {}
  Generation& operator=(Generation&&) = delete;
  ~Generation() { Cancel(); }

  uint32_t queue_position() const { return queue_position_; }
  const RequestSpec& spec() const { return request_->spec; }
  // The next output, when there is one already.
  std::optional<Output> Next() { return request_->outbox.Pop(); }
  // Idempotent; any thread.
  void Cancel();
  // Cancels because the reader has taken nothing for too long, and counts that also when the request has ended.
  void NotRead();

 private:
  StepLoop* loop_;
  std::shared_ptr<Request> request_;
  uint32_t queue_position_;
};

}  // namespace hearth
