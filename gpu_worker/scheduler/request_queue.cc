#include "gpu_worker/scheduler/request_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hearth {

Status RequestQueue::Push(std::shared_ptr<Request> request) {
  std::lock_guard lock(mutex_);
  if (!closed_.ok()) return closed_;
  if (waiting_.size() >= capacity_) {
    return ResourceExhausted("the queue is full: ", capacity_, " requests are waiting; try again later");
  }
  waiting_.push_back(std::move(request));
  return Status::Ok();
}

bool RequestQueue::Remove(const Request* request) {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& r) { return r.get() == request; });
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

std::shared_ptr<Request> RequestQueue::TakeFrontIf(const std::function<bool(const Request&)>& admit) {
  std::lock_guard lock(mutex_);
  if (waiting_.empty() || !admit(*waiting_.front())) return nullptr;
  std::shared_ptr<Request> front = std::move(waiting_.front());
  waiting_.pop_front();
  return front;
}

std::vector<std::shared_ptr<Request>> RequestQueue::TakeDead(Deadline::Clock::time_point now) {
  std::lock_guard lock(mutex_);
  const auto dead = std::stable_partition(waiting_.begin(), waiting_.end(), [&](const auto& r) {
    return !r->cancelled.load() && r->spec.deadline.when() > now;
  });
  std::vector<std::shared_ptr<Request>> taken(std::make_move_iterator(dead), std::make_move_iterator(waiting_.end()));
  waiting_.erase(dead, waiting_.end());
  return taken;
}

std::vector<std::shared_ptr<Request>> RequestQueue::TakeAll() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Request>> taken(std::make_move_iterator(waiting_.begin()),
                                              std::make_move_iterator(waiting_.end()));
  waiting_.clear();
  return taken;
}

Deadline::Clock::time_point RequestQueue::EarliestDeadline() const {
  std::lock_guard lock(mutex_);
  Deadline::Clock::time_point earliest = Deadline::Clock::time_point::max();
  for (const auto& request : waiting_) earliest = std::min(earliest, request->spec.deadline.when());
  return earliest;
}

size_t RequestQueue::size() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

void RequestQueue::Close(Status why) {
  std::lock_guard lock(mutex_);
  closed_ = std::move(why);
}

}  // namespace hearth
