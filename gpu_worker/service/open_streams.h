#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "common/base/deadline.h"

namespace hearth {

// The streams that have begun and not yet ended. A request may be done long before its client has read the answer, so
// draining waits for these. One thread looks after all of them, so that a reader that stays but does not read is found.
class OpenStreams {
 public:
  class Stream {
   public:
    virtual ~Stream() = default;
    // Called several times a second. Quick; does not add or remove.
    virtual void Look(Deadline::Clock::time_point now) = 0;
  };

  OpenStreams();
  ~OpenStreams();  // all streams have ended
  OpenStreams(const OpenStreams&) = delete;
  OpenStreams& operator=(const OpenStreams&) = delete;

  void Add(Stream& stream);
  // Once it returns, the stream is not looked at any more. Not from within Look().
  void Remove(Stream& stream);

  size_t size() const;
  // False when the deadline passes first.
  bool WaitNone(Deadline deadline);
  // Called once, on any thread, when no stream is left (at once when none is).
  void WhenNone(std::function<void()> call);

 private:
  void Run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Stream*> streams_;
  std::vector<std::function<void()>> when_none_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hearth
