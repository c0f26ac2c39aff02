#include "gpu_worker/service/engine_state.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace hearth {

void EngineState::Progress(uint64_t done, uint64_t total) {
  std::lock_guard lock(mutex_);
  load_.set_bytes_done(done);
  load_.set_bytes_total(total);
  const double ratio = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  // Warming up comes after loading; 1 is told only when ready.
  load_.set_ratio(std::min(ratio, 0.99));
}

void EngineState::Loaded(bool adopted, double seconds) {
  std::lock_guard lock(mutex_);
  load_.set_adopted(adopted);
  load_.set_seconds(seconds);
}

void EngineState::Ready(EngineParts parts) {
  std::lock_guard lock(mutex_);
  HEARTH_CHECK(parts_ == nullptr && parts.loop != nullptr, "ready once");
  parts_ = std::make_unique<const EngineParts>(std::move(parts));
  load_.set_ratio(1);
  state_ = v1::WORKER_STATE_READY;
}

void EngineState::Draining() {
  state_ = v1::WORKER_STATE_DRAINING;
  if (on_draining_) on_draining_();
}

v1::LoadProgress EngineState::load() const {
  std::lock_guard lock(mutex_);
  v1::LoadProgress load = load_;
  if (state_ == v1::WORKER_STATE_LOADING) {
    load.set_seconds(std::chrono::duration<double>(Deadline::Clock::now() - begin_).count());
  }
  return load;
}

Result<const EngineParts*> EngineState::parts() const {
  std::lock_guard lock(mutex_);
  switch (state_.load()) {
    case v1::WORKER_STATE_READY:
      return parts_.get();
    case v1::WORKER_STATE_DRAINING:
      return Unavailable("the worker is draining and takes no new requests");
    default:
      return Unavailable("the worker is loading (", static_cast<int>(load_.ratio() * 100), " %)");
  }
}

const EngineParts* EngineState::parts_or_null() const {
  std::lock_guard lock(mutex_);
  return parts_.get();
}

}  // namespace hearth
