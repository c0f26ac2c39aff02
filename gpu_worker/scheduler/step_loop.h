#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/result.h"
#include "gpu_worker/scheduler/generation.h"
#include "gpu_worker/scheduler/scheduler.h"

namespace hearth {

// The one thread that drives the engine, and the door to it. Idle, it sleeps until a request, a cancellation, a reader
// that made room or the next deadline. Everything public may be called from any thread.
class StepLoop {
 public:
  struct Options {
    Scheduler::Options scheduler;
    size_t queue_capacity = 256;
  };
  struct Stats {
    Scheduler::Counts counts;
    int64_t waiting = 0;
    uint64_t requests_total = 0;
    int64_t unfinished = 0;  // waiting, running and paused
    int64_t running() const { return counts.admitted - counts.paused; }
  };

  // Engine and observer outlive the loop; the engine is used by its thread alone from now on.
  StepLoop(StepEngine& engine, LoopObserver& observer, Options options);
  ~StepLoop();

  // `ready` is called on the step thread whenever the generation has a new output, possibly before Submit returns and
  // possibly after the reader has taken that output, so what it touches must outlive the generation. It must be quick
  // and must not destroy the generation.
  Result<Generation> Submit(RequestSpec spec, std::function<void()> ready);
  void Cancel(Request& request);
  void NotRead(Request& request);

  // Runs the function between two units of work. False when the loop is stopped or too many are waiting.
  bool Post(std::function<void()> task);

  // Admits nothing more; what was submitted goes on. `why` becomes the status of later submissions.
  void StartDraining(Status why);
  bool draining() const { return draining_.load(); }
  // False when the deadline passes first.
  bool WaitIdle(Deadline deadline);
  // Called once, on any thread, when no request is left (at once when none is).
  void WhenIdle(std::function<void()> call);

  // Ends what still runs with UNAVAILABLE and joins the thread. Idempotent.
  void Stop();

  Stats stats() const;

 private:
  void Run();
  void Wake();
  void Ended(Request& request);

  static constexpr size_t kMaxTasks = 16;

  const int64_t slots_;
  LoopObserver& observer_;
  const size_t most_waiting_;
  RequestQueue queue_;
  Scheduler scheduler_;
  std::atomic<bool> draining_ = false;
  std::atomic<uint64_t> requests_total_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable wake_cv_, idle_cv_;
  bool wake_ = false;
  bool stop_ = false;
  int64_t unfinished_ = 0;
  Scheduler::Counts counts_;  // as of the last unit of work
  std::deque<std::function<void()>> tasks_;
  std::vector<std::function<void()>> when_idle_;

  std::mutex stop_mutex_;  // serializes Stop()
  std::thread thread_;
};

}  // namespace hearth
