#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/deadline.h"
#include "gpu_worker/scheduler/loop_observer.h"
#include "gpu_worker/scheduler/request.h"
#include "gpu_worker/scheduler/sampler.h"
#include "gpu_worker/scheduler/step_engine.h"

namespace hearth {

// An admitted request, as the scheduler sees it.
struct Sequence {
  using Time = Deadline::Clock::time_point;

  std::shared_ptr<Request> request;
  RequestPhase phase = RequestPhase::kPrefill;
  bool ended = false;  // waits for removal
  RequestPhase phase_before_pause = RequestPhase::kPrefill;
  uint64_t order = 0;           // number of admission
  uint64_t prefill_ticket = 0;  // the lowest is prefilled next
  StepEngine::Slot slot = -1;   // -1 while paused
  std::optional<StepEngine::Saved> saved;

  int64_t prefilled = 0;   // tokens of finished chunks
  int64_t fed = 0;         // tokens in the model, finished chunks and decoded ones
  int32_t next_token = 0;  // what the next decode step feeds

  // A generation.
  int64_t generated = 0;
  int64_t forced = 0;  // ids of forced_after already put
  bool forcing_off = false;
  TokenHistory history;  // filled only when penalties look at it
  std::optional<ConstraintProgress> constraint;

  Time admitted, first_token, last_token;
  RequestUsage usage;

  const RequestSpec& spec() const { return request->spec; }
};

}  // namespace hearth
