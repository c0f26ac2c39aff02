#include "gpu_worker/loader/load_progress.h"

#include <algorithm>
#include <cstdio>

namespace hearth {

std::string ProgressLine(uint64_t done, uint64_t total, double seconds) {
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
  const double left = static_cast<double>(total - std::min(done, total)) / std::max(rate, 1.0);
  char text[128];
  std::snprintf(text, sizeof text, "loading: %.1f GB of %.1f GB, %.2f GB/s, %.0f s left",
                static_cast<double>(done) / 1e9, static_cast<double>(total) / 1e9, rate / 1e9, left);
  return text;
}

LoadProgress::LoadProgress(uint64_t total, std::function<void(uint64_t, uint64_t)> progress,
                           std::function<void(const std::string&)> log)
    : total_(total), progress_(std::move(progress)), log_(std::move(log)) {}

void LoadProgress::Add(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  done_ += bytes;
  Report(Clock::now(), false);
}

void LoadProgress::Finish() {
  std::lock_guard lock(mutex_);
  done_ = total_;
  Report(Clock::now(), true);
}

void LoadProgress::Report(Clock::time_point now, bool last) {
  if (progress_ && (last || now - reported_ >= std::chrono::milliseconds(100))) {
    progress_(std::min(done_, total_), total_);
    reported_ = now;
  }
  if (log_ && !last && now - logged_ >= std::chrono::seconds(2)) {
    log_(ProgressLine(done_, total_, std::chrono::duration<double>(now - begin_).count()));
    logged_ = now;
  }
}

}  // namespace hearth
