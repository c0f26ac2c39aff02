#include "gateway/worker_client/worker_pool.h"

namespace hearth::engine {

WorkerPool::WorkerPool(const std::vector<std::string>& targets, const ClientTls& tls,
                       std::function<void(size_t, const WorkerView&)> on_view)
    : targets_(targets) {
  for (size_t i = 0; i < targets_.size(); ++i) {
    workers_.push_back(
        std::make_unique<Worker>(targets_[i], tls, [on_view, i](const WorkerView& view) { on_view(i, view); }));
  }
}

WorkerViews WorkerPool::views() const {
  WorkerViews views;
  for (const auto& worker : workers_) views.push_back(worker->monitor.view());
  return views;
}

std::shared_ptr<const WorkerView> WorkerPool::view() const { return CombinedView(views()); }

std::optional<size_t> WorkerPool::Pick(std::string_view session, const std::vector<size_t>& tried) const {
  std::vector<bool> usable = ServingWorkers(views());
  for (const size_t worker : tried) usable[worker] = false;
  return PickWorker(session, targets_, usable);
}

}  // namespace hearth::engine
