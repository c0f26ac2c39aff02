#include "gpu_worker/scheduler/step_loop.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/scheduler/admission.h"
#include "gpu_worker/scheduler/end_queued.h"

namespace hearth {
namespace {

// Bounds a sleep without an event ahead; nothing depends on its length.
constexpr std::chrono::minutes kLongestSleep{10};

}  // namespace

void Generation::Cancel() {
  if (request_ != nullptr) loop_->Cancel(*request_);
}

void Generation::NotRead() {
  if (request_ != nullptr) loop_->NotRead(*request_);
}

StepLoop::StepLoop(StepEngine& engine, LoopObserver& observer, Options options)
    : slots_(engine.free_slots()),
      observer_(observer),
      most_waiting_(options.queue_capacity),
      queue_(options.queue_capacity + static_cast<size_t>(slots_)),
      scheduler_(engine, queue_, observer, std::move(options.scheduler), [this](Request& request) { Ended(request); }),
      counts_(scheduler_.counts()) {
  thread_ = std::thread([this] { Run(); });
}

StepLoop::~StepLoop() { Stop(); }

Result<Generation> StepLoop::Submit(RequestSpec spec, std::function<void()> ready) {
  auto request = std::make_shared<Request>(std::move(spec));
  request->outbox.OnOutput(std::move(ready));
  request->outbox.OnRoom([this] { Wake(); });
  request->submitted = Deadline::Clock::now();
  uint32_t position = 0;
  {
    std::lock_guard lock(mutex_);
    // Those that can start at once are in the queue too until the thread comes to them, but do not wait.
    position = QueuePosition(unfinished_, slots_);
    if (position > most_waiting_) {
      return ResourceExhausted("the queue is full: ", most_waiting_, " requests are waiting; try again later");
    }
    ++unfinished_;
  }
  if (Status status = queue_.Push(request); !status.ok()) {
    Ended(*request);
    return status;
  }
  ++requests_total_;
  Wake();
  return Generation(*this, std::move(request), position);
}

void StepLoop::Cancel(Request& request) {
  if (request.ended.load() || request.cancelled.exchange(true)) return;
  if (queue_.Remove(&request)) {
    EndQueued(request, Cancelled(request.why_cancelled()), observer_);
    Ended(request);
  } else {
    Wake();
  }
}

void StepLoop::NotRead(Request& request) {
  if (request.not_read.exchange(true)) return;
  if (request.ended.load()) {
    observer_.NotRead(request.spec);
  } else {
    Cancel(request);
  }
}

bool StepLoop::Post(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (stop_ || tasks_.size() >= kMaxTasks) return false;
    tasks_.push_back(std::move(task));
    wake_ = true;
  }
  wake_cv_.notify_one();
  return true;
}

void StepLoop::StartDraining(Status why) {
  draining_ = true;
  queue_.Close(std::move(why));
}

bool StepLoop::WaitIdle(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto until = std::min(deadline.when(), Deadline::Clock::now() + std::chrono::hours(24));
  return idle_cv_.wait_until(lock, until, [this] { return unfinished_ == 0; });
}

void StepLoop::WhenIdle(std::function<void()> call) {
  {
    std::lock_guard lock(mutex_);
    if (unfinished_ > 0) {
      when_idle_.push_back(std::move(call));
      return;
    }
  }
  call();
}

void StepLoop::Stop() {
  std::lock_guard stopping(stop_mutex_);
  if (!thread_.joinable()) return;
  StartDraining(Unavailable("the worker is stopping"));
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_cv_.notify_one();
  thread_.join();
}

void StepLoop::Run() {
  const Status stopping = Unavailable("the worker is stopping");
  std::deque<std::function<void()>> tasks;
  bool stop = false;
  while (!stop) {
    for (const auto& task : tasks) task();
    tasks.clear();
    const bool worked = scheduler_.RunOnce();
    const auto until =
        worked ? Deadline::Clock::now() : std::min(scheduler_.NextEvent(), Deadline::Clock::now() + kLongestSleep);
    std::unique_lock lock(mutex_);
    counts_ = scheduler_.counts();
    if (!worked) wake_cv_.wait_until(lock, until, [this] { return wake_ || stop_; });
    wake_ = false;
    stop = stop_;
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task();
  scheduler_.FailAll(stopping);
  for (const auto& request : queue_.TakeAll()) {
    EndQueued(*request, stopping, observer_);
    Ended(*request);
  }
  std::lock_guard lock(mutex_);
  counts_ = scheduler_.counts();
}

void StepLoop::Wake() {
  {
    std::lock_guard lock(mutex_);
    wake_ = true;
  }
  wake_cv_.notify_one();
}

void StepLoop::Ended(Request& request) {
  request.ended = true;
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(mutex_);
    if (--unfinished_ > 0) return;
    calls.swap(when_idle_);
  }
  idle_cv_.notify_all();
  for (const auto& call : calls) call();
}

StepLoop::Stats StepLoop::stats() const {
  Stats stats;
  stats.waiting = static_cast<int64_t>(queue_.size());
  stats.requests_total = requests_total_.load();
  std::lock_guard lock(mutex_);
  stats.counts = counts_;
  stats.unfinished = unfinished_;
  return stats;
}

}  // namespace hearth
