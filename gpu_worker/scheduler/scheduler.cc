#include "gpu_worker/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "gpu_worker/scheduler/admission.h"
#include "gpu_worker/scheduler/batch_plan.h"
#include "gpu_worker/scheduler/end_queued.h"

namespace hearth {
namespace {

constexpr int64_t kLeastBlockRows = 64;

int64_t BlockRows(int64_t chunk_size) {
  return std::max(kLeastBlockRows, (chunk_size + Outbox::kMostOfAChunk - 1) / Outbox::kMostOfAChunk);
}

PoolView ViewOf(const StepEngine& engine) {
  return {.free_slots = engine.free_slots(), .free_tokens = engine.free_tokens(), .page_tokens = engine.page_tokens()};
}

}  // namespace

Scheduler::Scheduler(StepEngine& engine, RequestQueue& queue, LoopObserver& observer, Options options, OnEnd on_end)
    : engine_(engine),
      queue_(queue),
      observer_(observer),
      options_(std::move(options)),
      on_end_(std::move(on_end)),
      score_block_rows_(BlockRows(engine.chunk_size())) {
  HEARTH_CHECK(engine.chunk_size() >= 64 && engine.chunk_size() % 64 == 0, "chunk size");
  const int64_t rows = std::max(score_block_rows_, engine.max_batch_rows());
  logits_.resize(static_cast<size_t>(rows * engine.vocab_size()));
}

Scheduler::~Scheduler() { FailAll(Unavailable("the worker is stopping")); }

bool Scheduler::RunOnce() {
  DropDead();
  ResumePaused();
  Admit();
  const std::vector<Sequence*> ready = DecodeReady();
  Sequence* prefill = chunk_ != nullptr ? chunk_ : NextPrefill();
  if (ready.empty()) prefill_time_ = {};
  const Work work = NextWork(!ready.empty(), prefill != nullptr, prefill_time_, options_.decode_every);
  bool worked = false;
  if (work == Work::kDecode) worked = DecodeStep(ready);
  // A step in which every stream waits for pages leaves the turn to the chunk that will free some.
  if (!worked && work != Work::kNone && prefill != nullptr) {
    const Time begin = options_.now();
    PrefillUnit(*prefill);
    prefill_time_ += options_.now() - begin;
    worked = true;
  }
  Sweep();
  return worked;
}

double Scheduler::SecondsSince(Time then) const { return std::chrono::duration<double>(options_.now() - then).count(); }

bool Scheduler::Stalled(const Sequence& sequence) const {
  const Outbox& outbox = sequence.request->outbox;
  if (sequence.phase == RequestPhase::kDecode) return outbox.room() == 0;
  const bool prefill_scores = sequence.phase == RequestPhase::kPrefill && sequence.spec().score() != nullptr;
  return prefill_scores && &sequence != chunk_ && outbox.size() > Outbox::kCapacity / 4;
}

void Scheduler::DropDead() {
  const Time now = options_.now();
  for (const auto& request : queue_.TakeDead(now)) {
    Status status = request->past_deadline(now) ? DeadlineExceeded("the deadline passed while queued")
                                                : Cancelled(request->why_cancelled());
    EndQueued(*request, std::move(status), observer_);
    on_end_(*request);
  }
  for (const auto& sequence : sequences_) {
    Request& request = *sequence->request;
    if (request.past_deadline(now)) {
      Fail(*sequence, DeadlineExceeded("the deadline passed after ", sequence->generated, " tokens"));
    } else if (request.cancelled.load()) {
      Fail(*sequence, Cancelled(request.why_cancelled()));
    } else if (Stalled(*sequence) && now - request.outbox.last_pop() >= options_.write_timeout) {
      request.not_read = true;
      Fail(*sequence, Cancelled(request.why_cancelled()));
    }
  }
  Sweep();
}

void Scheduler::Admit() {
  // Paused sequences come first: they are older than anything that waits.
  if (counts_.paused > 0) return;
  const auto tokens_of = [](const Request& request) {
    return TokensToReserve(static_cast<int64_t>(request.spec.tokens.size()), request.spec.max_length());
  };
  const auto fits = [&](const Request& request) { return HasRoom(ViewOf(engine_), tokens_of(request)); };
  while (std::shared_ptr<Request> request = queue_.TakeFrontIf(fits)) {
    auto sequence = std::make_unique<Sequence>();
    sequence->request = request;
    sequence->order = next_order_++;
    sequence->prefill_ticket = next_ticket_++;
    sequence->slot = engine_.Open();
    HEARTH_CHECK(sequence->slot >= 0, "a free slot was there");
    HEARTH_CHECK(engine_.Reserve(sequence->slot, tokens_of(*request)), "the pages were free");
    if (const GenerateSpec* generate = request->spec.generate(); generate && generate->sampling.counts_tokens()) {
      sequence->history.prompt.insert(request->spec.tokens.begin(), request->spec.tokens.end());
    }
    sequence->admitted = options_.now();
    sequence->usage.queue_seconds = std::chrono::duration<double>(sequence->admitted - request->submitted).count();
    sequence->usage.prompt_tokens = static_cast<int64_t>(request->spec.tokens.size());
    observer_.Admitted(sequence->usage.queue_seconds);
    sequences_.push_back(std::move(sequence));
    ++counts_.admitted;
  }
}

void Scheduler::ResumePaused() {
  for (const auto& sequence : sequences_) {
    if (sequence->phase != RequestPhase::kPaused) continue;
    const int64_t length = std::max(sequence->fed, sequence->spec().generate() != nullptr
                                                       ? sequence->spec().prefill_tokens()
                                                       : static_cast<int64_t>(sequence->spec().tokens.size()));
    const int64_t tokens = TokensToReserve(length, sequence->spec().max_length());
    // First in, first out here as well: a younger one that would fit waits.
    if (!HasRoom(ViewOf(engine_), tokens)) return;
    sequence->slot = engine_.Open();
    HEARTH_CHECK(sequence->slot >= 0 && engine_.Restore(sequence->slot, *sequence->saved), "the room was there");
    HEARTH_CHECK(engine_.Reserve(sequence->slot, tokens), "the pages were free");
    paused_bytes_ -= sequence->saved->bytes();
    sequence->saved.reset();
    sequence->phase = sequence->phase_before_pause;
    --counts_.paused;
  }
}

void Scheduler::AbandonChunk() {
  engine_.AbandonChunk();
  chunk_ = nullptr;
}

// What a prompt's chunks hold in the engine goes back when the prompt leaves, also between two of its chunks.
void Scheduler::LetGoOfChunk(const Sequence& sequence) {
  const bool between = chunk_ == nullptr && sequence.phase == RequestPhase::kPrefill;
  if (chunk_ == &sequence || between) AbandonChunk();
}

void Scheduler::Fail(Sequence& sequence, Status status) {
  observer_.Failed(status.code(), sequence.phase);
  End(sequence, Outcome{.status = std::move(status)});
}

void Scheduler::End(Sequence& sequence, Outcome outcome) {
  HEARTH_CHECK(!sequence.ended, "a request ends once");
  LetGoOfChunk(sequence);
  if (sequence.slot >= 0) engine_.Close(sequence.slot);
  sequence.slot = -1;
  if (sequence.phase == RequestPhase::kPaused) {
    paused_bytes_ -= sequence.saved->bytes();
    sequence.saved.reset();
    --counts_.paused;
  }
  sequence.ended = true;
  --counts_.admitted;
  RequestUsage& usage = sequence.usage;
  usage.completion_tokens = sequence.generated;
  if (sequence.first_token == Time{}) {
    usage.prefill_seconds = SecondsSince(sequence.admitted);
  } else {
    usage.decode_seconds = SecondsSince(sequence.first_token);
  }
  outcome.usage = usage;
  observer_.Ended(sequence.spec(), outcome);
  sequence.request->outbox.Push(std::move(outcome));
  on_end_(*sequence.request);
}

void Scheduler::Sweep() {
  std::erase_if(sequences_, [](const auto& sequence) { return sequence->ended; });
}

void Scheduler::FailAll(const Status& why) {
  for (const auto& sequence : sequences_) Fail(*sequence, why);
  Sweep();
}

Scheduler::Time Scheduler::NextEvent() const {
  Time next = queue_.EarliestDeadline();
  for (const auto& sequence : sequences_) {
    next = std::min(next, sequence->spec().deadline.when());
    if (Stalled(*sequence)) next = std::min(next, sequence->request->outbox.last_pop() + options_.write_timeout);
  }
  return next;
}

Scheduler::Counts Scheduler::counts() const {
  Counts counts = counts_;
  counts.kv_tokens_used = engine_.total_tokens() - engine_.free_tokens();
  return counts;
}

}  // namespace hearth
