#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gateway/worker_client/engine_client.h"
#include "gateway/worker_client/worker_view.h"

namespace hearth::engine {

// Asks the worker for its state, every 250 ms, on a thread of its own. A worker that leaves two questions in a row
// without an answer, each for 700 ms, is down, and so is one whose connection broke or that refuses to answer, without
// that wait; one that comes back is seen with the next question.
class WorkerMonitor {
 public:
  // `on_view` is called on the monitor's thread after each question, before view() shows it. Both outlive this object.
  WorkerMonitor(EngineClient& client, std::function<void(const WorkerView&)> on_view);
  ~WorkerMonitor();
  WorkerMonitor(const WorkerMonitor&) = delete;
  WorkerMonitor& operator=(const WorkerMonitor&) = delete;

  std::shared_ptr<const WorkerView> view() const;
  // A stream broke: asks again at once. When the connection is gone with it, view() says so before this returns.
  void Hint();

 private:
  void Run();
  // Down, when the worker answered the last question but its connection is gone; else null.
  std::shared_ptr<const WorkerView> Lost() const;

  EngineClient& client_;
  const std::function<void(const WorkerView&)> on_view_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const WorkerView> view_;
  bool hinted_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace hearth::engine
