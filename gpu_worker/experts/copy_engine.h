#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/deadline.h"

namespace hearth {

// Copies expert records on a thread of its own while the step thread computes: the host's stand-in for the GPU's copy
// engine. Work comes in batches, at most kCopyBatches of them at a time, one per staging buffer; copies of a batch
// are done in the order given. Used from one thread.
class CopyEngine {
 public:
  static constexpr int kCopyBatches = 2;
  struct Copy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    uint64_t bytes = 0;
  };

  CopyEngine() = default;
  ~CopyEngine();  // drops what has not begun
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  // Replaces batch `batch`, which must be idle. The thread starts with the first batch.
  void Start(int batch, std::vector<Copy> copies);
  // Whether copy `index` of the batch is done, waiting for it until the deadline.
  bool WaitFor(int batch, size_t index, Deadline deadline);
  // Drops the copies that have not begun and waits for the one that has.
  void Stop(int batch);

  uint64_t busy_ns() const;

 private:
  void Run();

  struct Batch {
    std::vector<Copy> copies;
    size_t done = 0;
    bool running = false;
  };
  mutable std::mutex mutex_;
  std::condition_variable work_, progress_;
  Batch batches_[kCopyBatches];
  std::vector<int> queue_;  // batches with work, oldest first
  bool ending_ = false;
  uint64_t busy_ns_ = 0;
  std::thread thread_;
};

}  // namespace hearth
