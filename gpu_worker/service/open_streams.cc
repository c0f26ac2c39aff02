#include "gpu_worker/service/open_streams.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hearth {
namespace {

// Short beside any sensible --write-timeout.
constexpr std::chrono::milliseconds kLookEvery{100};

}  // namespace

OpenStreams::OpenStreams() : thread_([this] { Run(); }) {}

OpenStreams::~OpenStreams() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OpenStreams::Add(Stream& stream) {
  {
    std::lock_guard lock(mutex_);
    streams_.insert(&stream);
  }
  changed_.notify_all();
}

void OpenStreams::Remove(Stream& stream) {
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(mutex_);
    streams_.erase(&stream);
    if (!streams_.empty()) return;
    calls.swap(when_none_);
    changed_.notify_all();
  }
  for (const auto& call : calls) call();
}

size_t OpenStreams::size() const {
  std::lock_guard lock(mutex_);
  return streams_.size();
}

bool OpenStreams::WaitNone(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto until = std::min(deadline.when(), Deadline::Clock::now() + std::chrono::hours(24));
  return changed_.wait_until(lock, until, [this] { return streams_.empty(); });
}

void OpenStreams::WhenNone(std::function<void()> call) {
  {
    std::lock_guard lock(mutex_);
    if (!streams_.empty()) {
      when_none_.push_back(std::move(call));
      return;
    }
  }
  call();
}

void OpenStreams::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait(lock, [this] { return stop_ || !streams_.empty(); });
    changed_.wait_for(lock, kLookEvery, [this] { return stop_; });
    const auto now = Deadline::Clock::now();
    for (Stream* stream : streams_) stream->Look(now);
  }
}

}  // namespace hearth
