#include "gpu_worker/experts/thread_copy_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace hearth {

ThreadCopyEngine::~ThreadCopyEngine() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ThreadCopyEngine::Start(int batch, std::vector<Copy> copies) {
  {
    const std::lock_guard lock(mutex_);
    Batch& b = batches_[batch];
    HEARTH_CHECK(!b.running && std::find(queue_.begin(), queue_.end(), batch) == queue_.end(), "batch in use");
    b.copies = std::move(copies);
    b.done = 0;
    if (b.copies.empty()) return;
    queue_.push_back(batch);
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  }
  work_.notify_one();
}

bool ThreadCopyEngine::WaitFor(int batch, size_t index, Deadline deadline) {
  std::unique_lock lock(mutex_);
  return progress_.wait_until(lock, deadline.when(), [&] { return batches_[batch].done > index; });
}

void ThreadCopyEngine::Stop(int batch) {
  std::unique_lock lock(mutex_);
  std::erase(queue_, batch);
  // A memcpy of one record ends by itself.
  progress_.wait(lock, [&] { return !batches_[batch].running; });
}

void ThreadCopyEngine::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    const int index = queue_.front();
    Batch& batch = batches_[index];
    const Copy copy = batch.copies[batch.done];
    batch.running = true;
    lock.unlock();
    std::memcpy(copy.to, copy.from, copy.bytes);
    lock.lock();
    batch.running = false;
    if (++batch.done == batch.copies.size()) std::erase(queue_, index);
    progress_.notify_all();
  }
}

}  // namespace hearth
