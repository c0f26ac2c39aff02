#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu_worker/experts/cpu_lane.h"
#include "gpu_worker/experts/link_attachment.h"

namespace hearth {

// The CPU lane over a link region. Each job takes a slot; a job that came late keeps its slot until the daemon
// acknowledges it or is given up. Attach and Drop belong to the thread that minds the daemon, the rest as in CpuLane.
class LinkLane : public CpuLane {
 public:
  LinkLane();
  ~LinkLane() override;

  void Attach(std::shared_ptr<LinkAttachment> attachment);
  // Takes the lane down at once; a job in flight ends as kGone.
  void Drop();
  // Time between the first and the latest job turned away in a row because every slot holds a job that the daemon has
  // not ended.
  std::chrono::nanoseconds WithoutSlotFor() const {
    return std::chrono::nanoseconds(full_for_.load(std::memory_order_relaxed));
  }

  bool up() const override { return up_.load(std::memory_order_acquire); }
  bool Publish(const CpuJob& job) override;
  CpuResult Wait(Deadline deadline) override;
  void LetGo() override;

 private:
  bool FindSlot();
  bool Fits(const CpuJob& job) const;
  void WriteJob(const CpuJob& job);

  std::atomic<bool> up_{false};
  std::atomic<int64_t> full_for_{0};  // ns
  std::mutex mutex_;
  std::shared_ptr<LinkAttachment> newest_;  // under the mutex

  // The step thread's own.
  std::shared_ptr<LinkAttachment> current_;
  std::vector<uint32_t> resting_;  // per slot: number of the job it waits for, 0 when free
  std::optional<std::chrono::steady_clock::time_point> full_since_;
  uint32_t next_number_ = 1;
  uint32_t slot_ = 0;
  uint32_t number_ = 0;
  const std::chrono::nanoseconds spin_;
};

}  // namespace hearth
