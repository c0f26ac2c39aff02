#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/deadline.h"
#include "common/base/result.h"
#include "common/rpc/rpc_credentials.h"
#include "gateway/worker_client/engine_types.h"

namespace hearth::engine {

// Generations that were started together. Destroying this cancels what still runs and returns once the worker's side
// of each stream has been let go. Used by one thread.
class GenerationStreams {
 public:
  virtual ~GenerationStreams() = default;
  // The next event of any stream, in order within a stream; nothing when none came within `wait`. Each stream ends
  // with one Finished or Failed.
  virtual std::optional<Event> Next(std::chrono::milliseconds wait) = 0;
  // Asks the worker to stop a stream; its last event is then Failed with kCancelled (or what came before).
  virtual void Cancel(size_t stream) = 0;
};

// The worker, seen from here. Thread-safe. Failures of the connection are kUnavailable.
class EngineClient {
 public:
  // As MakeChannel(); does not connect yet.
  EngineClient(const std::string& target, const ClientTls& tls);
  ~EngineClient();
  EngineClient(const EngineClient&) = delete;
  EngineClient& operator=(const EngineClient&) = delete;

  // Starts one stream for each spec. Never waits for the worker; the streams end with kDeadlineExceeded at `deadline`.
  std::unique_ptr<GenerationStreams> Generate(const std::vector<GenerateSpec>& specs, Deadline deadline);

  // Calls `row` for each row in ascending order. Asks `gone` every 20 ms and ends with kCancelled once it is true.
  Status Score(const ScoreSpec& spec, Deadline deadline, const std::function<bool()>& gone,
               const std::function<void(ScoreRow)>& row);

  Result<ModelInfo> GetModelInfo(std::chrono::milliseconds timeout);
  Result<EngineStats> GetStats(std::chrono::milliseconds timeout);
  // Whether a connection stands right now; never waits and makes none.
  bool connected() const;
  const std::string& target() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::engine
