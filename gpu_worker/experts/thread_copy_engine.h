#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "gpu_worker/experts/copy_engine.h"

namespace hearth {

// memcpy on a thread of its own: the host's stand-in for the GPU's copy engine. The thread starts with the first batch.
class ThreadCopyEngine final : public CopyEngine {
 public:
  ThreadCopyEngine() = default;
  ~ThreadCopyEngine() override;  // drops what has not begun
  ThreadCopyEngine(const ThreadCopyEngine&) = delete;
  ThreadCopyEngine& operator=(const ThreadCopyEngine&) = delete;

  void Start(int batch, std::vector<Copy> copies) override;
  bool WaitFor(int batch, size_t index, Deadline deadline) override;
  void Stop(int batch) override;  // waits for the copy that has begun

 private:
  void Run();

  struct Batch {
    std::vector<Copy> copies;
    size_t done = 0;
    bool running = false;
  };
  std::mutex mutex_;
  std::condition_variable work_, progress_;
  Batch batches_[kCopyBatches];
  std::vector<int> queue_;  // batches with work, oldest first
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace hearth
