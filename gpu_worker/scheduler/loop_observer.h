#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "gpu_worker/scheduler/output.h"

namespace hearth {

struct RequestSpec;

enum class RequestPhase { kQueued, kPrefill, kDecode, kPaused };
inline const char* PhaseName(RequestPhase phase) {
  constexpr const char* kNames[] = {"queued", "prefill", "decode", "paused"};
  return kNames[static_cast<int>(phase)];
}

// Hears what happens to requests, for metrics and the log. Called on the step thread (Failed also on others); must be
// quick.
class LoopObserver {
 public:
  virtual ~LoopObserver() = default;
  virtual void Admitted(double /*queue_seconds*/) {}
  virtual void Prefilled(int64_t /*tokens*/) {}
  virtual void FirstToken(double /*seconds_since_submit*/) {}
  virtual void NextToken(double /*seconds_since_last*/) {}
  virtual void DecodeStep(double /*seconds*/, int64_t /*rows*/) {}
  virtual void Finished(FinishReason /*reason*/, double /*seconds_since_submit*/) {}
  virtual void Scored(double /*seconds_since_submit*/) {}
  // Every request, once, with its outcome; any thread.
  virtual void Ended(const RequestSpec& /*spec*/, const Outcome& /*outcome*/) {}
  virtual void Failed(StatusCode /*code*/, RequestPhase /*phase*/) {}
  // After Ended: the reader has not taken all outputs within the write timeout and was cut off; any thread.
  virtual void NotRead(const RequestSpec& /*spec*/) {}
};

}  // namespace hearth
