#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/deadline.h"
#include "kernels/backend.h"

namespace hearth {

// Copies expert records into the backend's memory while it computes. Work comes in batches, at most kCopyBatches of
// them at a time, one per staging buffer; copies of a batch are done in the order given. Used from one thread.
class CopyEngine {
 public:
  static constexpr int kCopyBatches = 2;
  struct Copy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    uint64_t bytes = 0;
  };

  virtual ~CopyEngine() = default;

  // Replaces batch `batch`, which must be idle. What the backend was told to compute before comes first.
  virtual void Start(int batch, std::vector<Copy> copies) = 0;
  // Whether copy `index` of the batch comes before whatever the backend is told from here on, waiting for that until
  // the deadline.
  virtual bool WaitFor(int batch, size_t index, Deadline deadline) = 0;
  // The batch writes nothing more when this returns.
  virtual void Stop(int batch) = 0;
};

// A thread of its own on the host, else the backend's streams.
std::unique_ptr<CopyEngine> MakeCopyEngine(const kernels::Backend& backend);

}  // namespace hearth
