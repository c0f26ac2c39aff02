#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace hearth::http {

// Runs tasks, each on a thread of its own, on at most `max_threads` threads with small stacks. Threads are started when
// needed and end after a while without work.
class TaskThreads {
 public:
  TaskThreads(size_t max_threads, size_t stack_bytes);
  // Waits for the running tasks.
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // False when every thread is busy: the task does not run.
  bool Run(std::function<void()> task);
  // Waits until no task is left. New ones may still come.
  void WaitIdle();
  size_t busy() const;

 private:
  static void* ThreadMain(void* self);
  void Loop();

  const size_t max_threads_;
  const size_t stack_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // never more than there are idle or starting threads
  size_t threads_ = 0;
  size_t unfinished_ = 0;  // tasks waiting or running
  bool ending_ = false;
};

}  // namespace hearth::http
