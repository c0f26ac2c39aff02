#include <algorithm>

#include "common/base/check.h"
#include "gpu_worker/scheduler/batch_plan.h"
#include "gpu_worker/scheduler/pause_policy.h"
#include "gpu_worker/scheduler/scheduler.h"
#include "gpu_worker/scheduler/token_step.h"

namespace hearth {
namespace {

uint64_t Share(uint64_t total, uint64_t parts, uint64_t index) {
  return total / parts + (index < total % parts ? 1 : 0);
}

LanePicks Share(const LanePicks& total, uint64_t parts, uint64_t index) {
  return {Share(total.vram, parts, index), Share(total.pcie, parts, index), Share(total.cpu, parts, index),
          Share(total.staged, parts, index), Share(total.late, parts, index)};
}

}  // namespace

std::vector<Sequence*> Scheduler::DecodeReady() {
  std::vector<Sequence*> ready;
  for (const auto& sequence : sequences_) {
    if (sequence->phase == RequestPhase::kDecode && !Stalled(*sequence)) ready.push_back(sequence.get());
  }
  return ready;
}

// False when nothing was done: every stream of the batch sits out until a chunk ends.
bool Scheduler::DecodeStep(const std::vector<Sequence*>& ready) {
  std::vector<uint64_t> orders;
  for (const Sequence* sequence : ready) orders.push_back(sequence->order);
  const auto plan = PlanBatch(orders, static_cast<size_t>(engine_.max_batch_rows()), last_decoded_);
  std::vector<Sequence*> batch;
  bool paused = false;
  for (size_t index : plan) {
    Sequence& sequence = *ready[index];
    const int64_t paused_before = counts_.paused;
    if (!sequence.ended && sequence.phase == RequestPhase::kDecode && MakeRoom(sequence)) batch.push_back(&sequence);
    paused |= counts_.paused != paused_before || sequence.ended;
  }
  // Making room for one row may have paused or ended another that was in the batch already.
  std::erase_if(batch, [](const Sequence* s) { return s->ended || s->phase != RequestPhase::kDecode; });
  if (batch.empty()) return paused;

  std::vector<StepEngine::Row> rows;
  for (const Sequence* sequence : batch) rows.push_back({sequence->slot, sequence->next_token});
  const LanePicks picks_before = engine_.picks();
  const Time begin = options_.now();
  const Status status = engine_.Decode(rows, logits_.data());
  observer_.DecodeStep(SecondsSince(begin), static_cast<int64_t>(rows.size()));
  const LanePicks picks = engine_.picks() - picks_before;
  ++counts_.decode_steps;
  prefill_time_ = {};
  last_decoded_ = batch.back()->order;
  const size_t vocab = static_cast<size_t>(engine_.vocab_size());
  for (size_t i = 0; i < batch.size(); ++i) {
    Sequence& sequence = *batch[i];
    if (!status.ok()) {
      Fail(sequence, status);
      continue;
    }
    ++sequence.fed;
    sequence.usage.picks += Share(picks, batch.size(), i);
    TakeRow(sequence, std::span(logits_).subspan(i * vocab, vocab));
  }
  return true;
}

// Room for one more token. May pause or end other sequences, and this one.
bool Scheduler::MakeRoom(Sequence& sequence) {
  while (!engine_.Reserve(sequence.slot, sequence.fed + 1)) {
    std::vector<Sequence*> holders;
    std::vector<PauseCandidate> candidates;
    for (const auto& other : sequences_) {
      if (other->ended || other->slot < 0) continue;
      holders.push_back(other.get());
      candidates.push_back({other->order, other.get() == chunk_});
    }
    const std::optional<size_t> victim = PauseVictim(candidates);
    if (!victim) return false;
    Pause(*holders[*victim]);
    if (holders[*victim] == &sequence) return false;
  }
  return true;
}

void Scheduler::Pause(Sequence& sequence) {
  if (paused_bytes_ + engine_.SavedBytes(sequence.slot) > options_.paused_bytes_max) {
    return Fail(sequence, ResourceExhausted("the pool of ", engine_.total_tokens(),
                                            " KV tokens ran dry and the host memory for paused sequences is full (",
                                            options_.paused_bytes_max, " bytes); -cs or --paused-gb would help"));
  }
  LetGoOfChunk(sequence);
  sequence.saved = engine_.Save(sequence.slot);
  paused_bytes_ += sequence.saved->bytes();
  engine_.Close(sequence.slot);
  sequence.slot = -1;
  sequence.phase_before_pause = sequence.phase;
  sequence.phase = RequestPhase::kPaused;
  ++counts_.paused;
}

void Scheduler::TakeRow(Sequence& sequence, std::span<const float> logits) {
  if (sequence.spec().generate() != nullptr) {
    TakeGenerated(sequence, logits);
  } else {
    TakeScored(sequence, logits);
  }
}

void Scheduler::TakeGenerated(Sequence& sequence, std::span<const float> logits) {
  TokenVerdict verdict = TakeToken(sequence, logits, scratch_);
  if (!verdict.status.ok()) return Fail(sequence, std::move(verdict.status));
  const Time now = options_.now();
  if (verdict.drawn) ++counts_.completion_tokens;
  if (!verdict.drawn) {
    // The constraint's text was complete already.
  } else if (sequence.generated == 1) {
    sequence.first_token = now;
    sequence.usage.prefill_seconds = std::chrono::duration<double>(now - sequence.admitted).count();
    observer_.FirstToken(SecondsSince(sequence.request->submitted));
  } else {
    observer_.NextToken(std::chrono::duration<double>(now - sequence.last_token).count());
  }
  sequence.last_token = now;
  if (verdict.output) sequence.request->outbox.Push(*std::move(verdict.output));
  if (verdict.finished) {
    observer_.Finished(*verdict.finished, SecondsSince(sequence.request->submitted));
    End(sequence, Outcome{.reason = *verdict.finished, .stop_id = verdict.stop_id});
  }
}

void Scheduler::TakeScored(Sequence& sequence, std::span<const float> logits) {
  const RequestSpec& spec = sequence.spec();
  const int64_t row = sequence.fed - 1;
  if (row >= spec.score()->first_row) {
    ScoreRows scored(1);
    const Status status = ScoreRow(spec, row, logits, scored.front());
    if (!status.ok()) return Fail(sequence, status);
    sequence.request->outbox.Push(std::move(scored));
  }
  if (sequence.fed == static_cast<int64_t>(spec.tokens.size())) {
    observer_.Scored(SecondsSince(sequence.request->submitted));
    return End(sequence, Outcome{});
  }
  sequence.next_token = spec.tokens[static_cast<size_t>(sequence.fed)];
}

}  // namespace hearth
