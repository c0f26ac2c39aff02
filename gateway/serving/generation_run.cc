#include "gateway/serving/generation_run.h"

#include <algorithm>
#include <numeric>

#include "common/log/log.h"

namespace hearth::serving {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};

double Seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

GenerationRun::GenerationRun(const Services& services, const http::HttpRequest& request,
                             std::vector<engine::GenerateSpec> specs, Deadline deadline)
    : services_(services),
      request_id_(request.id),
      client_left_(request.client_left),
      drain_over_(request.drain_over),
      specs_(std::move(specs)),
      deadline_(deadline),
      prompt_tokens_(std::accumulate(specs_.begin(), specs_.end(), size_t{0},
                                     [](size_t sum, const auto& spec) { return sum + spec.prompt_ids.size(); })),
      choices_(specs_.size()),
      workers_(services, request.id,
               specs_.empty() ? "" : SessionOf(request, specs_.front().session, specs_.front().prompt_ids)) {
  StartStreams();
  services_.metrics.requests_waiting.Increment(static_cast<double>(choices_.size()));
}

void GenerationRun::StartStreams() { streams_ = workers_.client().Generate(specs_, deadline_); }

GenerationRun::~GenerationRun() {
  // Left running when the answer's head could not be sent.
  (void)CancelledByClient(false);
}

double GenerationRun::seconds() const { return Seconds(Clock::now() - start_); }

size_t GenerationRun::completion_tokens() const {
  size_t tokens = 0;
  for (const Choice& choice : choices_) tokens += choice.tokens;
  return tokens;
}

void GenerationRun::SetPhase(Choice& choice, Phase phase) {
  const auto gauge = [this](Phase p) -> Gauge* {
    if (p == Phase::kEnded) return nullptr;
    return p == Phase::kDecode ? &services_.metrics.requests_running : &services_.metrics.requests_waiting;
  };
  if (Gauge* before = gauge(choice.phase)) before->Decrement();
  if (Gauge* after = gauge(phase)) after->Increment();
  choice.phase = phase;
}

std::optional<engine::Event> GenerationRun::NextEvent() {
  if (early_.empty()) return streams_->Next(kLookEvery);
  engine::Event event = std::move(early_.front());
  early_.pop_front();
  return event;
}

bool GenerationRun::ClientLeft() {
  const auto now = Clock::now();
  if (now - last_look_ < kLookEvery) return false;
  last_look_ = now;
  return client_left_();
}

Status GenerationRun::Fail(const Status& status) {
  if (status.code() == StatusCode::kCancelled) return CancelledByClient(false);
  if (status.code() == StatusCode::kUnavailable) workers_.Hint();
  for (Choice& choice : choices_) SetPhase(choice, Phase::kEnded);
  Log(LogLevel::kWarning, "generation_failed", {{"request", request_id_}, {"status", status.ToString()}});
  return status;
}

Status GenerationRun::CancelledByClient(bool not_reading) {
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Phase phase = choices_[i].phase;
    if (phase == Phase::kEnded) continue;
    streams_->Cancel(i);
    GatewayMetrics& metrics = services_.metrics;
    Counter& counter = not_reading                ? metrics.cancelled_not_reading
                       : phase == Phase::kQueued  ? metrics.cancelled_queued
                       : phase == Phase::kPrefill ? metrics.cancelled_prefill
                                                  : metrics.cancelled_decode;
    counter.Increment();
    SetPhase(choices_[i], Phase::kEnded);
  }
  if (drain_over_()) return DrainIsOver();
  return Cancelled(not_reading ? "the client did not read for the write timeout" : "the client left");
}

Status GenerationRun::WaitAccepted() {
  size_t accepted = 0;
  while (accepted < choices_.size()) {
    std::optional<engine::Event> event = streams_->Next(kLookEvery);
    if (ClientLeft()) return CancelledByClient(false);
    if (!event) continue;
    if (const auto* failed = std::get_if<engine::Failed>(&event->what)) {
      const Status failure = workers_.Failure(failed->status, client_left_());
      const bool untouched = accepted == 0 && failure.code() == StatusCode::kUnavailable;
      if (!untouched || !workers_.Next()) return Fail(failure);
      StartStreams();
      continue;
    }
    Choice& choice = choices_[event->stream];
    if (!std::exchange(choice.accepted, true)) ++accepted;
    if (const auto* taken = std::get_if<engine::Accepted>(&event->what)) {
      choice.seed = taken->seed;
      if (taken->queue_position == 0) SetPhase(choice, Phase::kPrefill);
    } else {
      early_.push_back(*std::move(event));
    }
  }
  services_.metrics.prompt_tokens.Increment(static_cast<double>(prompt_tokens_));
  return Status::Ok();
}

void GenerationRun::NoteToken(Choice& choice) {
  const auto now = Clock::now();
  if (choice.tokens == 0) {
    SetPhase(choice, Phase::kDecode);
    services_.metrics.time_to_first_token.Observe(Seconds(now - start_));
    if (seconds_to_first_token_ < 0) seconds_to_first_token_ = Seconds(now - start_);
    choice.first_token = now;
  } else {
    services_.metrics.inter_token_latency.Observe(Seconds(now - choice.last_token));
  }
  choice.last_token = now;
  ++choice.tokens;
  services_.metrics.generation_tokens.Increment();
}

engine::Usage GenerationRun::Seen(size_t index) const {
  const Choice& choice = choices_[index];
  engine::Usage usage{.completion_tokens = static_cast<uint32_t>(choice.tokens),
                      .prefill_seconds = Seconds(choice.first_token - start_),
                      .decode_seconds = Seconds(choice.last_token - choice.first_token),
                      .effective_sampling = specs_[index].sampling};
  usage.effective_sampling.seed = choice.seed;
  return usage;
}

void GenerationRun::OnTokens(const engine::Event& event, const engine::Tokens& tokens, RunObserver& observer) {
  const size_t index = event.stream;
  Choice& choice = choices_[index];
  for (const engine::Token& token : tokens.tokens) {
    if (choice.phase == Phase::kEnded) return;
    NoteToken(choice);
    if (observer.OnToken(index, token)) continue;
    streams_->Cancel(index);
    EndChoice(index, {.by_stop_string = true, .seen = Seen(index)}, observer);
  }
  services_.metrics.chunk_write.Observe(Seconds(Clock::now() - event.arrived));
}

void GenerationRun::EndChoice(size_t index, const ChoiceEnd& end, RunObserver& observer) {
  Choice& choice = choices_[index];
  ChoiceEnd counted = end;
  counted.tokens = choice.tokens;
  if (end.usage) services_.metrics.queue_wait.Observe(end.usage->queue_seconds);
  SetPhase(choice, Phase::kEnded);
  services_.metrics.e2e_latency.Observe(seconds());
  observer.OnEnd(index, counted);
}

Status GenerationRun::Run(RunObserver& observer) {
  const auto running = [this] {
    return std::any_of(choices_.begin(), choices_.end(), [](const Choice& c) { return c.phase != Phase::kEnded; });
  };
  while (running()) {
    const std::optional<engine::Event> event = NextEvent();
    if (!observer.CanWrite()) return CancelledByClient(observer.write_timed_out());
    if (ClientLeft()) return CancelledByClient(false);
    observer.KeepAlive();
    if (!event) continue;
    if (choices_[event->stream].phase == Phase::kEnded) continue;  // the end of a stream that a stop string ended
    if (const auto* tokens = std::get_if<engine::Tokens>(&event->what)) {
      OnTokens(*event, *tokens, observer);
    } else if (const auto* finished = std::get_if<engine::Finished>(&event->what)) {
      EndChoice(event->stream,
                {.by_length = finished->by_length, .stop_id = finished->stop_id, .usage = finished->usage}, observer);
    } else if (const auto* failed = std::get_if<engine::Failed>(&event->what)) {
      return Fail(workers_.Failure(failed->status, client_left_()));
    }
  }
  // The last write may have failed after the last event.
  if (!observer.CanWrite()) return CancelledByClient(observer.write_timed_out());
  return Status::Ok();
}

}  // namespace hearth::serving
