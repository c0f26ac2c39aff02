#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace hearth {

// Adds up what the loader's threads have read and reports it, to a callback often and to the log now and then.
class LoadProgress {
 public:
  using Clock = std::chrono::steady_clock;

  LoadProgress(uint64_t total, std::function<void(uint64_t, uint64_t)> progress,
               std::function<void(const std::string&)> log);

  void Add(uint64_t bytes);
  void Finish();

 private:
  void Report(Clock::time_point now, bool last);

  const uint64_t total_;
  const std::function<void(uint64_t, uint64_t)> progress_;
  const std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  uint64_t done_ = 0;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point reported_ = begin_, logged_ = begin_;
};

// "loading: 5.1 GB of 114.6 GB, 2.31 GB/s, 47 s left"
std::string ProgressLine(uint64_t done, uint64_t total, double seconds);

}  // namespace hearth
