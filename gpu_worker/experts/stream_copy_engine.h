#pragma once

#include <vector>

#include "gpu_worker/experts/copy_engine.h"

namespace hearth {

// Copies on a stream of their own, which the device's copy engine serves beside its kernels. What was handed to the
// stream cannot be taken back: Stop waits for it and for what was handed over before it, two staging buffers' worth of
// bytes at most.
class StreamCopyEngine final : public CopyEngine {
 public:
  explicit StreamCopyEngine(const kernels::Backend& backend);
  ~StreamCopyEngine() override;
  StreamCopyEngine(const StreamCopyEngine&) = delete;
  StreamCopyEngine& operator=(const StreamCopyEngine&) = delete;

  void Start(int batch, std::vector<Copy> copies) override;
  bool WaitFor(int batch, size_t index, Deadline deadline) override;
  void Stop(int batch) override;

 private:
  struct Batch {
    std::vector<void*> marks;  // one per copy, kept for later batches
    size_t used = 0;
  };
  const kernels::Backend& backend_;
  void* const stream_;
  void* const computed_;  // what the backend had been told when a batch starts
  Batch batches_[kCopyBatches];
};

}  // namespace hearth
