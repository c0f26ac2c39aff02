#pragma once

#include <optional>
#include <span>

#include "gpu_worker/scheduler/output.h"
#include "gpu_worker/scheduler/sampler.h"
#include "gpu_worker/scheduler/sequence.h"

namespace hearth {

// What one logits row means for a generation.
struct TokenVerdict {
  Status status;                      // not ok: the row is unusable, or the constraint cannot be kept
  bool drawn = true;                  // false: the generation was complete before a token was chosen
  std::optional<TokenOutput> output;  // absent when a stop id ended it
  std::optional<FinishReason> finished;
  std::optional<int32_t> stop_id;
};

// Chooses the generation's next token (forced or sampled) from the row after its `fed` tokens, and brings counters,
// history, constraint and next_token up to date. Log-probabilities are those of the row as it is, also under a mask.
TokenVerdict TakeToken(Sequence& sequence, std::span<const float> logits, SamplerScratch& scratch);

// The scored row of `row`, from its logits; the status is not ok when they are unusable.
Status ScoreRow(const RequestSpec& spec, int64_t row, std::span<const float> logits, ScoreRowOutput& output);

}  // namespace hearth
