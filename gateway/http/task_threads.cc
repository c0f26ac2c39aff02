#include "gateway/http/task_threads.h"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace hearth::http {
namespace {

constexpr std::chrono::seconds kIdleTime{20};

}  // namespace

TaskThreads::TaskThreads(size_t max_threads, size_t stack_bytes)
    : max_threads_(max_threads), stack_bytes_(stack_bytes) {}

TaskThreads::~TaskThreads() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  work_.notify_all();
  changed_.wait(lock, [this] { return threads_ == 0; });
}

bool TaskThreads::Run(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (unfinished_ >= max_threads_) return false;
  if (unfinished_ >= threads_) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes_);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, &TaskThreads::ThreadMain, this);
    pthread_attr_destroy(&attributes);
    if (error != 0) return false;
    ++threads_;
  }
  tasks_.push_back(std::move(task));
  ++unfinished_;
  work_.notify_one();
  return true;
}

void TaskThreads::WaitIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return unfinished_ == 0; });
}

size_t TaskThreads::busy() const {
  std::lock_guard lock(mutex_);
  return unfinished_;
}

void* TaskThreads::ThreadMain(void* self) {
  static_cast<TaskThreads*>(self)->Loop();
  return nullptr;
}

void TaskThreads::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait_for(lock, kIdleTime, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) break;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    --unfinished_;
    changed_.notify_all();
  }
  --threads_;
  // Under the lock: the destructor may end as soon as it is released.
  changed_.notify_all();
}

}  // namespace hearth::http
