#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/deadline.h"
#include "gpu_worker/constraint/constraint_progress.h"
#include "gpu_worker/scheduler/outbox.h"
#include "gpu_worker/scheduler/sampling_params.h"

namespace hearth {

struct ForcedAfter {
  int64_t n_tokens = 0;
  std::vector<int32_t> ids;
  std::optional<int32_t> unless_seen;
};

struct GenerateSpec {
  int64_t max_tokens = 1;  // at least 1; prompt + max_tokens fits the context
  SamplingParams sampling;
  std::vector<int32_t> stop_ids;  // empty: nothing but max_tokens ends it
  int top_logprobs = -1;          // -1: no log-probabilities, 0: of the sampled token only
  std::optional<ForcedAfter> forced_after;
  std::optional<ConstraintSpec> constraint;
};

struct ScoreSpec {
  int64_t first_row = 0;
  int top_k = 0;
  std::vector<int32_t> chosen;
  int64_t decode_from = 0;  // tokens before it are prefilled, the others decoded one at a time; at least 1
};

// A checked request: ids are within the vocabulary and everything fits the context.
struct RequestSpec {
  std::string id;               // for logs
  std::vector<int32_t> tokens;  // prompt, or the sequence to score; not empty
  bool logits_hash = false;
  Deadline deadline = Deadline::Never();
  std::variant<GenerateSpec, ScoreSpec> kind;

  const GenerateSpec* generate() const { return std::get_if<GenerateSpec>(&kind); }
  const ScoreSpec* score() const { return std::get_if<ScoreSpec>(&kind); }
  // Tokens that go through prefill; what follows is decoded.
  int64_t prefill_tokens() const {
    return score() != nullptr ? score()->decode_from : static_cast<int64_t>(tokens.size());
  }
  // Most tokens that ever occupy the sequence.
  int64_t max_length() const {
    return static_cast<int64_t>(tokens.size()) + (generate() != nullptr ? generate()->max_tokens : 0);
  }
};

// A request on its way: shared by the one who asked and the step loop.
struct Request {
  explicit Request(RequestSpec s) : spec(std::move(s)) {}
  const RequestSpec spec;
  Outbox outbox;
  std::atomic<bool> cancelled = false;
  std::atomic<bool> not_read = false;  // its reader stays but takes nothing; set before `cancelled`
  std::atomic<bool> ended = false;
  Deadline::Clock::time_point submitted;

  // gRPC cancels a call whose deadline passes, and the client's clock may say so a moment before this one does. A
  // client that stopped reading is told so whatever its deadline.
  bool past_deadline(Deadline::Clock::time_point now) const {
    constexpr std::chrono::milliseconds kMoment{50};
    return !not_read && spec.deadline.when() <= (cancelled ? now + kMoment : now);
  }
  const char* why_cancelled() const { return not_read ? "the client has stopped reading" : "the client has left"; }
};

}  // namespace hearth
