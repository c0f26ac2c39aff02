#include "gateway/worker_client/worker_monitor.h"

#include <chrono>

#include "common/log/log.h"

namespace hearth::engine {
namespace {

constexpr std::chrono::milliseconds kAskEvery{250};
constexpr std::chrono::milliseconds kAnswerTime{700};
constexpr int kMissesUntilDown = 2;

std::string StateText(const WorkerView& view) {
  return std::string(StateWord(view)) + (view.ready() && view.info.degraded ? ", degraded" : "");
}

}  // namespace

WorkerMonitor::WorkerMonitor(EngineClient& client, std::function<void(const WorkerView&)> on_view)
    : client_(client),
      on_view_(std::move(on_view)),
      view_(std::make_shared<WorkerView>(WorkerView{.problem = "not asked yet"})),
      thread_([this] { Run(); }) {}

WorkerMonitor::~WorkerMonitor() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<const WorkerView> WorkerMonitor::view() const {
  std::lock_guard lock(mutex_);
  return view_;
}

std::shared_ptr<const WorkerView> WorkerMonitor::Lost() const {
  const auto last = view();
  if (!last->answers || client_.connected()) return nullptr;
  auto lost = std::make_shared<WorkerView>(*last);
  lost->answers = false;
  lost->problem = "the connection broke";
  return lost;
}

void WorkerMonitor::Hint() {
  const auto lost = Lost();
  {
    std::lock_guard lock(mutex_);
    if (lost) view_ = lost;
    hinted_ = true;
  }
  changed_.notify_all();
}

void WorkerMonitor::Run() {
  std::string last_state;
  int misses = 0;
  while (true) {
    // The question waits for a connection, and meanwhile nobody may take a dead worker for a ready one.
    if (const auto lost = Lost()) {
      on_view_(*lost);
      std::lock_guard lock(mutex_);
      view_ = lost;
    }
    Result<ModelInfo> info = client_.GetModelInfo(kAnswerTime);
    const bool missed = info.status().code() == StatusCode::kDeadlineExceeded && client_.connected();
    misses = missed ? misses + 1 : 0;
    if (missed && misses < kMissesUntilDown) {
      // A busy machine makes a living worker late now and then: it keeps its state for one more question.
      std::lock_guard lock(mutex_);
      if (ending_) return;
      continue;
    }
    WorkerView now;
    now.answers = info.ok();
    if (info.ok()) {
      now.info = *std::move(info);
    } else {
      now.info = view()->info;
      now.problem = info.status().message();
    }
    if (const std::string state = StateText(now); state != last_state) {
      Log(now.ready() ? LogLevel::kInfo : LogLevel::kWarning, "worker_state",
          {{"worker", client_.target()}, {"state", state}, {"problem", now.problem}});
      last_state = state;
    }
    on_view_(now);
    std::unique_lock lock(mutex_);
    view_ = std::make_shared<WorkerView>(std::move(now));
    changed_.wait_for(lock, kAskEvery, [this] { return ending_ || hinted_; });
    hinted_ = false;
    if (ending_) return;
  }
}

}  // namespace hearth::engine
