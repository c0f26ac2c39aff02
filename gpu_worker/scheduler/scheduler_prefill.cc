#include <algorithm>

#include "common/base/check.h"
#include "gpu_worker/scheduler/batch_plan.h"
#include "gpu_worker/scheduler/scheduler.h"
#include "gpu_worker/scheduler/token_step.h"

namespace hearth {
namespace {

// Rows whose log-probabilities stay below the 4 MiB that a gRPC client takes by default; one row always fits.
int64_t RowsOfOneMessage(const ScoreSpec& score) {
  constexpr int64_t kPairs = 200'000;  // of id and log-probability, at most 14 bytes each
  return std::max<int64_t>(1, kPairs / (score.top_k + static_cast<int64_t>(score.chosen.size()) + 1));
}

// Most tokens of a chunk whose scored rows make at most Outbox::kMostOfAChunk messages; a multiple of 64, so that where
// chunks end does not show in the logits.
int64_t LongestScoredChunk(const ScoreSpec& score) {
  return std::max<int64_t>(64, RowsOfOneMessage(score) * Outbox::kMostOfAChunk / 64 * 64);
}

}  // namespace

Sequence* Scheduler::NextPrefill() {
  std::vector<Sequence*> waiting;
  std::vector<uint64_t> tickets;
  for (const auto& sequence : sequences_) {
    // A scored chunk cannot stop half way for its reader: it would hold up every other prompt.
    if (sequence->phase != RequestPhase::kPrefill || Stalled(*sequence)) continue;
    waiting.push_back(sequence.get());
    tickets.push_back(sequence->prefill_ticket);
  }
  return waiting.empty() ? nullptr : waiting[PlanPrefill(tickets)];
}

void Scheduler::BeginChunk(Sequence& sequence) {
  const RequestSpec& spec = sequence.spec();
  int64_t longest = engine_.chunk_size();
  if (spec.score() != nullptr) longest = std::min(longest, LongestScoredChunk(*spec.score()));
  chunk_rows_ = ChunkLength(sequence.prefilled, spec.prefill_tokens(), longest);
  chunk_ = &sequence;
  next_scored_row_ = spec.score() != nullptr ? std::max(spec.score()->first_row, sequence.prefilled) : 0;
  engine_.BeginChunk(
      sequence.slot,
      std::span(spec.tokens).subspan(static_cast<size_t>(sequence.prefilled), static_cast<size_t>(chunk_rows_)));
}

void Scheduler::PrefillUnit(Sequence& sequence) {
  if (chunk_ == nullptr) BeginChunk(sequence);
  if (!engine_.chunk_done()) {
    const LanePicks before = engine_.picks();
    const Request& request = *sequence.request;
    const Status status = engine_.StepLayer(
        [this, &request] { return request.cancelled.load() || request.spec.deadline.when() <= options_.now(); });
    sequence.usage.picks += engine_.picks() - before;
    if (!status.ok()) {
      AbandonChunk();
      if (status.code() != StatusCode::kCancelled) return Fail(sequence, status);
      return Fail(sequence, request.past_deadline(options_.now()) ? DeadlineExceeded("the deadline passed in prefill")
                                                                  : Cancelled(request.why_cancelled()));
    }
    if (!engine_.chunk_done()) return;
  }
  if (sequence.spec().score() != nullptr && !ScoreBlock(sequence)) return;
  if (!sequence.ended) EndChunk(sequence);
}

// Scores the next rows of the finished chunk; true when none is left.
bool Scheduler::ScoreBlock(Sequence& sequence) {
  const int64_t end = sequence.prefilled + chunk_rows_;
  const int64_t rows =
      std::min({score_block_rows_, RowsOfOneMessage(*sequence.spec().score()), end - next_scored_row_});
  if (rows <= 0) return true;
  const size_t vocab = static_cast<size_t>(engine_.vocab_size());
  engine_.ChunkLogits(next_scored_row_ - sequence.prefilled, rows, logits_.data());
  ScoreRows scored(static_cast<size_t>(rows));
  for (size_t i = 0; i < scored.size(); ++i) {
    const Status status = ScoreRow(sequence.spec(), next_scored_row_ + static_cast<int64_t>(i),
                                   std::span(logits_).subspan(i * vocab, vocab), scored[i]);
    if (!status.ok()) {
      Fail(sequence, status);
      return true;
    }
  }
  sequence.request->outbox.Push(std::move(scored));
  next_scored_row_ += rows;
  return next_scored_row_ >= end;
}

void Scheduler::EndChunk(Sequence& sequence) {
  chunk_ = nullptr;
  sequence.prefilled += chunk_rows_;
  sequence.fed = sequence.prefilled;
  counts_.prompt_tokens += static_cast<uint64_t>(chunk_rows_);
  observer_.Prefilled(chunk_rows_);
  const RequestSpec& spec = sequence.spec();
  if (sequence.prefilled < spec.prefill_tokens()) {
    sequence.prefill_ticket = next_ticket_++;
    return;
  }
  sequence.phase = RequestPhase::kDecode;
  if (spec.generate() != nullptr) {
    const std::span<float> row = std::span(logits_).first(static_cast<size_t>(engine_.vocab_size()));
    engine_.ChunkLogits(chunk_rows_ - 1, 1, row.data());
    engine_.AbandonChunk();
    TakeGenerated(sequence, row);
    return;
  }
  engine_.AbandonChunk();
  if (sequence.fed == static_cast<int64_t>(spec.tokens.size())) {
    observer_.Scored(SecondsSince(sequence.request->submitted));
    End(sequence, Outcome{});
  } else {
    sequence.next_token = spec.tokens[static_cast<size_t>(sequence.fed)];
  }
}

}  // namespace hearth
