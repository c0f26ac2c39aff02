#include "gpu_worker/scheduler/outbox.h"

#include <utility>

#include "common/base/check.h"

namespace hearth {

size_t Outbox::room() const {
  std::lock_guard lock(mutex_);
  return outputs_.size() >= kCapacity ? 0 : kCapacity - outputs_.size();
}

size_t Outbox::size() const {
  std::lock_guard lock(mutex_);
  return outputs_.size();
}

void Outbox::Push(Output output) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = std::holds_alternative<Outcome>(output);
    HEARTH_CHECK(closed_ || outputs_.size() < kCapacity, "the writer did not ask for room");
    outputs_.push_back(std::move(output));
  }
  if (ready_) ready_();
}

std::optional<Output> Outbox::Pop() {
  bool was_full = false;
  std::optional<Output> output;
  {
    std::lock_guard lock(mutex_);
    if (outputs_.empty()) return std::nullopt;
    was_full = outputs_.size() >= kCapacity;
    output = std::move(outputs_.front());
    outputs_.pop_front();
    last_pop_ = Deadline::Clock::now();
  }
  if (was_full && room_) room_();
  return output;
}

Deadline::Clock::time_point Outbox::last_pop() const {
  std::lock_guard lock(mutex_);
  return last_pop_;
}

}  // namespace hearth
