#pragma once

#include <utility>

#include "gpu_worker/scheduler/loop_observer.h"
#include "gpu_worker/scheduler/request.h"

namespace hearth {

// Ends a request that was never admitted. The caller has taken it off the queue.
inline void EndQueued(Request& request, Status status, LoopObserver& observer) {
  Outcome outcome{.status = std::move(status)};
  observer.Failed(outcome.status.code(), RequestPhase::kQueued);
  observer.Ended(request.spec, outcome);
  request.outbox.Push(std::move(outcome));
}

}  // namespace hearth
