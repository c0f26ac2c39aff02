#pragma once

#include <algorithm>
#include <chrono>

namespace hearth {

// A point in time by which something must have happened, on the monotonic clock.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline Never() { return Deadline(Clock::time_point::max()); }
  static Deadline After(Clock::duration left) { return Deadline(Clock::now() + left); }
  static Deadline At(Clock::time_point when) { return Deadline(when); }
  static Deadline Earlier(Deadline a, Deadline b) { return Deadline(std::min(a.when_, b.when_)); }

  bool Passed() const { return when_ != Clock::time_point::max() && Clock::now() >= when_; }
  // Never negative.
  Clock::duration Left() const {
    if (when_ == Clock::time_point::max()) return Clock::duration::max();
    return std::max(Clock::duration::zero(), when_ - Clock::now());
  }
  Clock::time_point when() const { return when_; }

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

}  // namespace hearth
