#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/worker_client/engine_client.h"
#include "gateway/worker_client/worker_choice.h"
#include "gateway/worker_client/worker_monitor.h"

namespace hearth::engine {

// The workers of --worker, one channel and one monitor each. Thread-safe.
class WorkerPool {
 public:
  // `on_view` is called on the monitors' threads, one per worker. Throws StartupError as EngineClient does.
  WorkerPool(const std::vector<std::string>& targets, const ClientTls& tls,
             std::function<void(size_t, const WorkerView&)> on_view);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  size_t size() const { return workers_.size(); }
  const std::vector<std::string>& targets() const { return targets_; }
  WorkerViews views() const;
  // As CombinedView().
  std::shared_ptr<const WorkerView> view() const;

  // A worker that serves and is not in `tried`, the same for a session as long as it can be. Nothing when there is
  // none.
  std::optional<size_t> Pick(std::string_view session, const std::vector<size_t>& tried = {}) const;

  EngineClient& client(size_t worker) { return workers_[worker]->client; }
  // A stream of this worker broke: it is asked again at once.
  void Hint(size_t worker) { workers_[worker]->monitor.Hint(); }

 private:
  struct Worker {
    Worker(const std::string& target, const ClientTls& tls, std::function<void(const WorkerView&)> on_view)
        : client(target, tls), monitor(client, std::move(on_view)) {}
    EngineClient client;
    WorkerMonitor monitor;
  };

  const std::vector<std::string> targets_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace hearth::engine
