#include "gpu_worker/experts/link_lane.h"

#include <algorithm>

#include "common/base/cpu_info.h"
#include "common/ipc/wait_strategy.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 5ms;  // most time between two looks at whether the daemon was given up

}  // namespace

LinkLane::LinkLane() : spin_(SpinBudget(UsableCpuCount())) {}

LinkLane::~LinkLane() { Drop(); }

void LinkLane::Attach(std::shared_ptr<LinkAttachment> attachment) {
  const std::lock_guard lock(mutex_);
  newest_ = std::move(attachment);
  full_for_.store(0, std::memory_order_relaxed);
  up_.store(true, std::memory_order_release);
}

void LinkLane::Drop() {
  const std::lock_guard lock(mutex_);
  up_.store(false, std::memory_order_release);
  if (newest_ != nullptr) newest_->GiveUp();
  newest_.reset();
}

bool LinkLane::Publish(const CpuJob& job) {
  {
    const std::lock_guard lock(mutex_);
    if (newest_ == nullptr) {
      current_.reset();
      return false;
    }
    if (current_ != newest_) {
      current_ = newest_;
      resting_.assign(current_->view().geometry().slots, 0);
      full_since_.reset();
    }
  }
  if (!Fits(job) || !FindSlot()) return false;
  WriteJob(job);
  return true;
}

bool LinkLane::Fits(const CpuJob& job) const {
  const LinkGeometry& g = current_->view().geometry();
  size_t picks = 0;
  for (const CpuJob::Expert& expert : job.experts) picks += expert.x_rows.size();
  return job.rows <= g.max_rows && job.experts.size() <= g.max_experts && picks <= g.max_picks;
}

bool LinkLane::FindSlot() {
  const LinkView& link = current_->view();
  for (uint32_t slot = 0; slot < resting_.size(); ++slot) {
    // Acquire pairs with the daemon's release: it has written the last byte of that job.
    if (resting_[slot] != 0 && link.daemon_line(slot).done.load(std::memory_order_acquire) != resting_[slot]) continue;
    resting_[slot] = 0;
    slot_ = slot;
    full_since_.reset();
    full_for_.store(0, std::memory_order_relaxed);
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!full_since_) full_since_ = now;
  full_for_.store(std::chrono::nanoseconds(now - *full_since_).count(), std::memory_order_relaxed);
  return false;
}

void LinkLane::WriteJob(const CpuJob& job) {
  const LinkView& link = current_->view();
  const size_t hidden = link.geometry().hidden;
  std::copy(job.x, job.x + static_cast<size_t>(job.rows) * hidden, link.x(slot_));
  uint32_t picks = 0, experts = 0;
  for (const CpuJob::Expert& expert : job.experts) {
    link.experts(slot_)[experts++] = {static_cast<uint32_t>(expert.expert),
                                      static_cast<uint32_t>(expert.x_rows.size())};
    for (int32_t row : expert.x_rows) link.x_row(slot_)[picks++] = static_cast<uint32_t>(row);
  }
  SlotWorkerLine& line = link.worker_line(slot_);
  line.layer = static_cast<uint32_t>(job.layer);
  line.rows = static_cast<uint32_t>(job.rows);
  line.picks = picks;
  line.experts = experts;
  line.budget_us = static_cast<uint32_t>(std::clamp<int64_t>(job.budget.count(), 0, UINT32_MAX));
  number_ = next_number_;
  next_number_ = next_number_ == UINT32_MAX ? 1 : next_number_ + 1;
  resting_[slot_] = number_;
  line.published.store(number_, std::memory_order_release);  // pairs with the acquire in ReadJob
  std::atomic<uint32_t>& bell = link.header().bell;
  bell.fetch_add(1, std::memory_order_release);
  FutexWake(bell);
}

CpuResult LinkLane::Wait(Deadline deadline) {
  const LinkView& link = current_->view();
  const SlotDaemonLine& line = link.daemon_line(slot_);
  const LinkAttachment& attachment = *current_;
  const auto over = [&](uint32_t done) { return done == number_ || attachment.gone(); };
  while (!WaitUntil(line.done, over, Deadline::Earlier(deadline, Deadline::After(kLook)), spin_)) {
    if (deadline.Passed()) break;
  }
  if (line.done.load(std::memory_order_acquire) != number_) {
    link.worker_line(slot_).abandoned.store(number_, std::memory_order_relaxed);
    if (!attachment.gone()) return {CpuOutcome::kLate};
    LetGo();
    return {CpuOutcome::kGone};
  }
  // Finished with, so the slot is free again; its rows stay as they are until the next Publish.
  resting_[slot_] = 0;
  if (line.outcome != static_cast<uint32_t>(JobOutcome::kComputed)) return {CpuOutcome::kLate};
  return {CpuOutcome::kDone, link.out(slot_), static_cast<double>(line.elapsed_ns) * 1e-9};
}

// There may never be another daemon, and the region is pinned memory.
void LinkLane::LetGo() {
  if (current_ != nullptr && current_->gone()) current_.reset();
}

}  // namespace hearth
