#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/result.h"
#include "gpu_worker/experts/slot_check.h"
#include "gpu_worker/scheduler/step_loop.h"
#include "gpu_worker/service/parse_request.h"
#include "hearth/v1/engine.pb.h"

namespace hearth {

// What the service needs once the model is loaded. Everything outlives the server.
struct EngineParts {
  StepLoop* loop = nullptr;
  std::chrono::nanoseconds write_timeout = std::chrono::seconds(10);  // for a write that the client leaves pending
  RequestLimits limits;
  v1::ModelInfo info;  // state, load and the degraded fields are filled by the service
  // Expert cache, lanes and CPU tier; any thread.
  std::function<void(v1::EngineStats&)> add_expert_stats;
  // "" when nothing is wrong, else why fast mode runs without its CPU tier; any thread.
  std::function<std::string()> degraded;
  // Whether a result can depend on timing; any thread.
  std::function<bool()> deterministic;
  // Compares sampled cache slots with the home from where the check stands, for some ten milliseconds; false when none
  // is left. Called on the step thread.
  std::function<bool(uint32_t samples, SlotCheck& check)> verify;
};

// Where the worker stands. Written by the worker, read by service and metrics; thread-safe.
class EngineState {
 public:
  // Called by Draining(), on its thread. Set before Ready().
  void OnDraining(std::function<void()> call) { on_draining_ = std::move(call); }
  void Progress(uint64_t done, uint64_t total);
  void Loaded(bool adopted, double seconds);
  void Ready(EngineParts parts);
  void Draining();

  v1::WorkerState state() const { return state_.load(); }
  v1::LoadProgress load() const;
  // UNAVAILABLE, with the reason, unless requests can be taken. The parts stay where they are.
  Result<const EngineParts*> parts() const;
  // The parts in every state; null while loading.
  const EngineParts* parts_or_null() const;

 private:
  mutable std::mutex mutex_;
  std::atomic<v1::WorkerState> state_ = v1::WORKER_STATE_LOADING;
  const Deadline::Clock::time_point begin_ = Deadline::Clock::now();
  v1::LoadProgress load_;
  std::unique_ptr<const EngineParts> parts_;
  std::function<void()> on_draining_;
};

}  // namespace hearth
