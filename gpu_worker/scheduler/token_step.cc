#include "gpu_worker/scheduler/token_step.h"

#include <algorithm>

#include "common/base/check.h"

namespace hearth {
namespace {

Status UnusableRow(int64_t position) {
  return Internal("the logits after ", position, " tokens are not finite numbers");
}

// The id that must come next, if one must.
std::optional<int32_t> ForcedId(const Sequence& sequence, const GenerateSpec& spec) {
  if (!spec.forced_after || sequence.forcing_off) return std::nullopt;
  const ForcedAfter& rule = *spec.forced_after;
  const bool due = sequence.generated >= rule.n_tokens + sequence.forced;
  if (!due || sequence.forced >= static_cast<int64_t>(rule.ids.size())) return std::nullopt;
  return rule.ids[static_cast<size_t>(sequence.forced)];
}

Status NothingLeft(const Sequence& sequence, const GenerateSpec& spec) {
  if (!sequence.constraint) {
    return InvalidArgument("logit_bias bans every token after ", sequence.fed, " tokens").WithParam("logit_bias");
  }
  if (spec.sampling.logit_bias.empty()) {
    return Internal("no token that the constraint admits has a finite logit after ", sequence.generated, " tokens");
  }
  return InvalidArgument("logit_bias bans every token that the constraint admits after ", sequence.generated, " tokens")
      .WithParam("logit_bias");
}

// Samples under the constraint's mask. Nothing: the verdict says why.
std::optional<int32_t> Sample(Sequence& sequence, const GenerateSpec& spec, std::span<const float> logits,
                              SamplerScratch& scratch, TokenVerdict& verdict) {
  std::span<const uint64_t> allowed;
  if (sequence.constraint) {
    const Result<const TokenMask*> mask = sequence.constraint->Mask();
    if (!mask.ok()) {
      verdict.status = mask.status();
      return std::nullopt;
    }
    if (*mask != nullptr && (*mask)->empty) {
      verdict.finished = FinishReason::kStop;
      verdict.drawn = false;
      return std::nullopt;
    }
    if (*mask != nullptr) allowed = (*mask)->bits;
  }
  const auto position = static_cast<uint64_t>(sequence.fed);
  const int32_t id = SampleToken(logits, spec.sampling, sequence.history, position, scratch, allowed);
  if (id >= 0) return id;
  if (id == kNothingAllowed && sequence.constraint && sequence.constraint->can_end()) {
    verdict.finished = FinishReason::kStop;
    verdict.drawn = false;
    return std::nullopt;
  }
  verdict.status = id == kNothingAllowed ? NothingLeft(sequence, spec) : UnusableRow(sequence.fed);
  return std::nullopt;
}

}  // namespace

TokenVerdict TakeToken(Sequence& sequence, std::span<const float> logits, SamplerScratch& scratch) {
  const RequestSpec& spec = sequence.spec();
  const GenerateSpec* generate = spec.generate();
  HEARTH_CHECK(generate != nullptr, "a scored sequence draws no tokens");
  TokenVerdict verdict;

  if (generate->constraint && !sequence.constraint) sequence.constraint.emplace(*generate->constraint);
  const std::optional<int32_t> forced = ForcedId(sequence, *generate);
  const std::optional<int32_t> chosen = forced ? forced : Sample(sequence, *generate, logits, scratch, verdict);
  if (!chosen) return verdict;
  const int32_t id = *chosen;
  if (sequence.constraint) {
    verdict.status = sequence.constraint->Advance(id);
    if (!verdict.status.ok()) {
      if (forced) verdict.status = std::move(verdict.status).WithParam("forced_after");
      return verdict;
    }
  }
  if (forced) ++sequence.forced;
  const bool may_still_force = generate->forced_after && sequence.forced == 0;
  if (may_still_force && generate->forced_after->unless_seen == id) sequence.forcing_off = true;

  ++sequence.generated;
  if (std::find(generate->stop_ids.begin(), generate->stop_ids.end(), id) != generate->stop_ids.end()) {
    verdict.finished = FinishReason::kStop;
    verdict.stop_id = id;
    return verdict;
  }
  TokenOutput& output = verdict.output.emplace();
  output.id = id;
  if (generate->top_logprobs >= 0) {
    const RowLogProbs row(logits);
    if (!row.finite()) {
      verdict.output.reset();
      verdict.status = UnusableRow(sequence.fed);
      return verdict;
    }
    output.logprob = row.Of(id);
    output.top = row.Top(generate->top_logprobs);
  }
  if (spec.logits_hash) output.logits_hash = LogitsHash(logits);
  if (generate->sampling.counts_tokens()) ++sequence.history.generated[id];
  sequence.next_token = id;
  if (sequence.generated >= generate->max_tokens) verdict.finished = FinishReason::kLength;
  return verdict;
}

Status ScoreRow(const RequestSpec& spec, int64_t row, std::span<const float> logits, ScoreRowOutput& output) {
  const ScoreSpec* score = spec.score();
  HEARTH_CHECK(score != nullptr, "a generation has no scored rows");
  const RowLogProbs log_probs(logits);
  if (!log_probs.finite()) return UnusableRow(row + 1);
  output.row = row;
  output.top = log_probs.Top(score->top_k);
  output.chosen.reserve(score->chosen.size());
  for (int32_t id : score->chosen) output.chosen.push_back({id, log_probs.Of(id)});
  if (row + 1 < static_cast<int64_t>(spec.tokens.size())) {
    output.next_logprob = log_probs.Of(spec.tokens[static_cast<size_t>(row + 1)]);
  }
  if (spec.logits_hash) output.logits_hash = LogitsHash(logits);
  return Status::Ok();
}

}  // namespace hearth
