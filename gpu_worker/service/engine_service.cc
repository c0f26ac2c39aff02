#include "gpu_worker/service/engine_service.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "common/rpc/status_map.h"
#include "gpu_worker/service/deferred_reply.h"
#include "gpu_worker/service/request_streams.h"

namespace hearth {
namespace {

Deadline DeadlineOf(const grpc::CallbackServerContext& context) {
  using SystemClock = std::chrono::system_clock;
  const SystemClock::time_point when = context.deadline();
  const SystemClock::time_point now = SystemClock::now();
  // An absent deadline arrives as a time in the far future.
  if (when > now + std::chrono::hours(24 * 365)) return Deadline::Never();
  return Deadline::After(std::chrono::duration_cast<Deadline::Clock::duration>(when - now));
}

uint64_t RandomSeed() {
  thread_local std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// What a Verify call is answered from. Its reactor owns it.
struct Verification {
  explicit Verification(uint32_t wanted) : samples(wanted) {}

  void End(const grpc::Status& how) {
    std::lock_guard lock(mutex);
    status = how;
  }

  const uint32_t samples;
  SlotCheck check;  // the step thread's until the status is OK
  std::mutex mutex;
  grpc::Status status{grpc::StatusCode::DEADLINE_EXCEEDED, "the step thread was busy until the deadline"};
};

// Each part is a task of its own, so that a step waits for one at most. A part that finds its call gone is the last.
void PostPart(const EngineParts& parts, const std::weak_ptr<Verification>& call, const std::function<void()>& done) {
  const bool posted = parts.loop->Post([&parts, call, done] {
    const std::shared_ptr<Verification> verification = call.lock();
    if (verification == nullptr) return;
    if (parts.verify(verification->samples, verification->check)) return PostPart(parts, call, done);
    verification->End(grpc::Status::OK);
    done();
  });
  if (posted) return;
  if (const std::shared_ptr<Verification> verification = call.lock()) {
    verification->End(
        {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many Verify calls are waiting, or the worker is stopping"});
  }
  done();
}

}  // namespace

grpc::ServerWriteReactor<v1::GenerateResponse>* EngineService::Generate(grpc::CallbackServerContext* context,
                                                                        const v1::GenerateRequest* request) {
  const Result<const EngineParts*> parts = state_.parts();
  if (!parts.ok()) {
    auto* reactor = new GenerateReactor();
    reactor->Refuse(ToGrpc(parts.status()));
    return reactor;
  }
  auto* reactor = new GenerateReactor((*parts)->deterministic);
  Result<RequestSpec> spec = ParseGenerate(*request, (*parts)->limits, RandomSeed());
  if (!spec.ok()) {
    reactor->Refuse(ToGrpc(spec.status()));
    return reactor;
  }
  spec->deadline = DeadlineOf(*context);
  reactor->Begin({*context, streams_, (*parts)->write_timeout}, *(*parts)->loop, *std::move(spec));
  return reactor;
}

grpc::ServerWriteReactor<v1::ScoreResponse>* EngineService::Score(grpc::CallbackServerContext* context,
                                                                  const v1::ScoreRequest* request) {
  auto* reactor = new ScoreReactor();
  const Result<const EngineParts*> parts = state_.parts();
  Result<RequestSpec> spec = parts.ok() ? ParseScore(*request, (*parts)->limits) : Result<RequestSpec>(parts.status());
  if (!spec.ok()) {
    reactor->Refuse(ToGrpc(spec.status()));
    return reactor;
  }
  spec->deadline = DeadlineOf(*context);
  reactor->Begin({*context, streams_, (*parts)->write_timeout}, *(*parts)->loop, *std::move(spec));
  return reactor;
}

v1::ModelInfo CollectInfo(const EngineState& state) {
  v1::ModelInfo info;
  if (const EngineParts* parts = state.parts_or_null()) {
    info = parts->info;
    const std::string reason = parts->degraded ? parts->degraded() : "";
    info.set_degraded(!reason.empty());
    info.set_degraded_reason(reason);
  }
  info.set_state(state.state());
  *info.mutable_load() = state.load();
  return info;
}

v1::EngineStats CollectStats(const EngineState& state) {
  v1::EngineStats stats;
  stats.set_state(state.state());
  *stats.mutable_load() = state.load();
  const EngineParts* parts = state.parts_or_null();
  if (parts == nullptr) return stats;
  const StepLoop::Stats loop = parts->loop->stats();
  stats.set_requests_running(static_cast<uint32_t>(loop.running()));
  stats.set_requests_waiting(static_cast<uint32_t>(loop.waiting));
  stats.set_requests_total(loop.requests_total);
  stats.set_prompt_tokens_total(loop.counts.prompt_tokens);
  stats.set_completion_tokens_total(loop.counts.completion_tokens);
  stats.set_decode_steps(loop.counts.decode_steps);
  stats.set_kv_tokens_used(static_cast<uint64_t>(loop.counts.kv_tokens_used));
  stats.set_kv_tokens_total(parts->info.kv_pool_tokens());
  stats.set_sequences_paused(static_cast<uint64_t>(loop.counts.paused));
  if (parts->add_expert_stats) parts->add_expert_stats(stats);
  return stats;
}

grpc::ServerUnaryReactor* EngineService::GetModelInfo(grpc::CallbackServerContext* context,
                                                      const v1::GetModelInfoRequest*, v1::ModelInfo* response) {
  *response = CollectInfo(state_);
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* EngineService::GetStats(grpc::CallbackServerContext* context, const v1::GetStatsRequest*,
                                                  v1::EngineStats* response) {
  *response = CollectStats(state_);
  return Answer(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* EngineService::Drain(grpc::CallbackServerContext* context, const v1::DrainRequest*,
                                               v1::DrainResponse* response) {
  const EngineParts* parts = state_.parts_or_null();
  if (parts == nullptr) return Answer(context, ToGrpc(state_.parts().status()));
  StepLoop& loop = *parts->loop;
  state_.Draining();
  loop.StartDraining(Unavailable("the worker is draining and takes no new requests"));
  auto* reactor = new DeferredReply(DeadlineOf(*context), [this, &loop, response] {
    // A request that has ended still runs for a client that has not read all of it; one whose client has left still
    // runs until the step thread lets go of it.
    const auto unfinished = static_cast<size_t>(loop.stats().unfinished);
    response->set_still_running(static_cast<uint32_t>(std::max(unfinished, streams_.size())));
    return grpc::Status::OK;
  });
  loop.WhenIdle([this, done = reactor->Handle()] { streams_.WhenNone(done); });
  return reactor;
}

grpc::ServerUnaryReactor* EngineService::Verify(grpc::CallbackServerContext* context, const v1::VerifyRequest* request,
                                                v1::VerifyResponse* response) {
  const Result<const EngineParts*> parts = state_.parts();
  if (!parts.ok()) return Answer(context, ToGrpc(parts.status()));
  if (!(*parts)->verify) return Answer(context, grpc::Status::OK);
  auto verification = std::make_shared<Verification>(request->samples());
  const std::weak_ptr<Verification> call = verification;
  auto* reactor = new DeferredReply(DeadlineOf(*context), [verification = std::move(verification), response] {
    std::lock_guard lock(verification->mutex);
    if (verification->status.ok()) {
      response->set_compared(verification->check.compared);
      response->set_different(verification->check.different);
    }
    return verification->status;
  });
  PostPart(**parts, call, reactor->Handle());
  return reactor;
}

}  // namespace hearth
