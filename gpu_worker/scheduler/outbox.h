#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "common/base/deadline.h"
#include "gpu_worker/scheduler/output.h"

namespace hearth {

// The bounded way from the step loop (one writer) to the one who asked (one reader). The writer never waits: it asks
// for room first and leaves a full outbox alone. The Outcome always fits and nothing follows it.
class Outbox {
 public:
  static constexpr size_t kCapacity = 1024;
  // Messages of one scored chunk, which cannot stop half way: they fit beside what is here already.
  static constexpr int64_t kMostOfAChunk = kCapacity / 2;

  // Before the request is submitted: called after every Push, on the writer's thread, without a lock.
  void OnOutput(std::function<void()> ready) { ready_ = std::move(ready); }
  // Called, on the reader's thread, when a full outbox has room again.
  void OnRoom(std::function<void()> room) { room_ = std::move(room); }

  size_t room() const;
  size_t size() const;
  // Nothing is taken after the Outcome.
  void Push(Output output);

  std::optional<Output> Pop();
  // Last time that the reader took something, or the creation.
  Deadline::Clock::time_point last_pop() const;

 private:
  mutable std::mutex mutex_;
  std::deque<Output> outputs_;
  bool closed_ = false;
  Deadline::Clock::time_point last_pop_ = Deadline::Clock::now();
  std::function<void()> ready_;
  std::function<void()> room_;
};

}  // namespace hearth
