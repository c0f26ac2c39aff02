#pragma once

#include <string>

#include "gateway/worker_client/engine_types.h"

namespace hearth::engine {

// What was last heard from a worker.
struct WorkerView {
  bool answers = false;
  ModelInfo info;       // as of the last answer; the first fields only while it loads
  std::string problem;  // why it does not answer
  bool ready() const { return answers && info.state == WorkerState::kReady; }
};

// "ready", "loading", "draining" or "worker_down".
const char* StateWord(const WorkerView& view);

}  // namespace hearth::engine
