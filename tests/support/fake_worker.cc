#include "tests/support/fake_worker.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "common/rpc/status_map.h"
#include "hearth/v1/engine.grpc.pb.h"

namespace hearth::test {
namespace {

namespace pb = ::hearth::v1;

constexpr uint32_t kVocabulary = 4096;

engine::GenerateSpec SpecOf(const pb::GenerateRequest& request) {
  engine::GenerateSpec spec{.request_id = request.request_id(),
                            .prompt_ids = {request.prompt_ids().begin(), request.prompt_ids().end()}};
  if (request.has_max_tokens()) spec.max_tokens = request.max_tokens();
  const pb::SamplingParams& from = request.sampling();
  if (from.has_temperature()) spec.sampling.temperature = from.temperature();
  if (from.has_top_p()) spec.sampling.top_p = from.top_p();
  if (from.has_top_k()) spec.sampling.top_k = from.top_k();
  if (from.has_min_p()) spec.sampling.min_p = from.min_p();
  if (from.has_repetition_penalty()) spec.sampling.repetition_penalty = from.repetition_penalty();
  if (from.has_presence_penalty()) spec.sampling.presence_penalty = from.presence_penalty();
  if (from.has_frequency_penalty()) spec.sampling.frequency_penalty = from.frequency_penalty();
  if (from.has_seed()) spec.sampling.seed = from.seed();
  for (const auto& [id, bias] : from.logit_bias()) spec.sampling.logit_bias[id] = bias;
  spec.stop_ids = {request.stop_ids().begin(), request.stop_ids().end()};
  spec.ignore_eos = request.ignore_eos();
  spec.top_logprobs = request.top_logprobs();
  spec.logits_hash = request.logits_hash();
  if (request.has_constraint()) {
    const pb::Constraint& from_constraint = request.constraint();
    spec.constraint = {.automaton = std::make_shared<const std::string>(from_constraint.automaton()),
                       .must_begin = from_constraint.must_begin()};
    if (from_constraint.has_start_after()) spec.constraint->start_after = from_constraint.start_after();
  }
  if (request.has_forced_after()) {
    const pb::ForcedAfter& forced = request.forced_after();
    spec.forced_after = {.n_tokens = forced.n_tokens(), .ids = {forced.ids().begin(), forced.ids().end()}};
    if (forced.has_unless_seen()) spec.forced_after->unless_seen = forced.unless_seen();
  }
  return spec;
}

void FillToken(const pb::GenerateRequest& request, int32_t id, pb::Token& token) {
  token.set_id(id);
  if (request.top_logprobs() >= 0) {
    token.set_logprob(-0.25f);
    for (int k = 0; k < request.top_logprobs(); ++k) {
      pb::TokenLogprob& top = *token.add_top();
      top.set_id((id + k) % static_cast<int32_t>(kVocabulary));
      top.set_logprob(-0.25f - static_cast<float>(k));
    }
  }
  if (request.logits_hash()) token.set_logits_hash(0xABCD0000u + static_cast<uint32_t>(id));
}

void FillRow(const pb::ScoreRequest& request, uint32_t row, pb::ScoreRow& to) {
  const int32_t id = request.ids(static_cast<int>(row));
  to.set_row(row);
  for (uint32_t k = 0; k < request.top_k(); ++k) {
    pb::TokenLogprob& top = *to.add_top();
    top.set_id(static_cast<int32_t>((static_cast<uint32_t>(id) + 1 + k) % kVocabulary));
    top.set_logprob(-0.5f - static_cast<float>(k));
  }
  for (const int32_t chosen : request.chosen()) {
    pb::TokenLogprob& entry = *to.add_chosen();
    entry.set_id(chosen);
    entry.set_logprob(-2.0f);
  }
  if (static_cast<int>(row) + 1 < request.ids_size()) to.set_next_logprob(-1.5f);
  if (request.logits_hash()) {
    to.set_logits_hash((request.path() == pb::ScoreRequest::DECODE ? 0x2000u : 0x1000u) + row);
  }
}

}  // namespace

struct FakeWorker::Impl final : pb::Engine::Service {
  Director director;
  std::string model_dir;
  mutable std::mutex mutex;
  pb::ModelInfo info;
  std::vector<engine::GenerateSpec> seen;
  std::atomic<int> cancelled{0}, running{0};
  std::atomic<bool> hang_scores{false}, hang_stats{false};
  std::atomic<std::chrono::milliseconds> score_delay{std::chrono::milliseconds(0)};
  Status score_refusal;
  std::atomic<int> ignored_questions{0}, info_answers{0};
  std::unique_ptr<grpc::Server> server;
  std::string address;

  // False once the client has gone.
  static bool Wait(grpc::ServerContext* context, std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      if (context->IsCancelled()) return false;
      std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(time, std::chrono::milliseconds(2)));
    }
    return !context->IsCancelled();
  }

  grpc::Status Play(grpc::ServerContext* context, const pb::GenerateRequest& request, const Script& script,
                    grpc::ServerWriter<pb::GenerateResponse>* writer) {
    if (!script.refuse.ok()) return ToGrpc(script.refuse);
    pb::GenerateResponse message;
    message.mutable_accepted()->set_queue_position(script.queue_position);
    message.mutable_accepted()->set_seed(7);
    writer->Write(message);
    if (!Wait(context, script.before_first)) return grpc::Status::CANCELLED;
    uint32_t tokens = 0;
    for (const std::vector<int32_t>& chunk : script.chunks) {
      message.Clear();
      for (const int32_t id : chunk) {
        FillToken(request, id, *message.mutable_tokens()->add_tokens());
        ++tokens;
      }
      if (!writer->Write(message) || !Wait(context, script.between)) return grpc::Status::CANCELLED;
    }
    if (!script.break_after_chunks.ok()) return ToGrpc(script.break_after_chunks);
    while (script.hang_at_end) {
      if (!Wait(context, std::chrono::milliseconds(5))) return grpc::Status::CANCELLED;
    }
    message.Clear();
    pb::Finished& finished = *message.mutable_finished();
    finished.set_reason(script.by_length ? pb::FINISH_REASON_LENGTH : pb::FINISH_REASON_STOP);
    if (!script.by_length) finished.set_stop_id(script.stop_id);
    finished.mutable_usage()->set_prompt_tokens(static_cast<uint32_t>(request.prompt_ids_size()));
    finished.mutable_usage()->set_completion_tokens(tokens);
    finished.mutable_usage()->set_decode_seconds(0.5);
    finished.mutable_usage()->mutable_picks()->set_vram(3);
    *finished.mutable_usage()->mutable_effective_sampling() = request.sampling();
    finished.mutable_usage()->set_deterministic(true);
    writer->Write(message);
    return grpc::Status::OK;
  }

  grpc::Status Generate(grpc::ServerContext* context, const pb::GenerateRequest* request,
                        grpc::ServerWriter<pb::GenerateResponse>* writer) override {
    const engine::GenerateSpec spec = SpecOf(*request);
    {
      std::lock_guard lock(mutex);
      seen.push_back(spec);
    }
    ++running;
    const grpc::Status status = Play(context, *request, director(spec), writer);
    if (status.error_code() == grpc::StatusCode::CANCELLED) ++cancelled;
    --running;
    return status;
  }

  grpc::Status Score(grpc::ServerContext* context, const pb::ScoreRequest* request,
                     grpc::ServerWriter<pb::ScoreResponse>* writer) override {
    {
      std::lock_guard lock(mutex);
      if (!score_refusal.ok()) return ToGrpc(score_refusal);
    }
    if (!Wait(context, score_delay)) return grpc::Status::CANCELLED;
    pb::ScoreResponse block;
    for (uint32_t row = request->first_row(); row < static_cast<uint32_t>(request->ids_size()); ++row) {
      FillRow(*request, row, *block.add_rows());
      if (block.rows_size() < 4 && static_cast<int>(row) + 1 < request->ids_size()) continue;
      writer->Write(block);
      block.Clear();
      if (!hang_scores) continue;
      ++running;
      while (Wait(context, std::chrono::milliseconds(5))) {
      }
      ++cancelled;
      --running;
      return grpc::Status::CANCELLED;
    }
    return grpc::Status::OK;
  }

  grpc::Status GetModelInfo(grpc::ServerContext* context, const pb::GetModelInfoRequest*,
                            pb::ModelInfo* reply) override {
    if (ignored_questions > 0) {
      --ignored_questions;
      while (Wait(context, std::chrono::milliseconds(5))) {
      }
      return grpc::Status::CANCELLED;
    }
    std::lock_guard lock(mutex);
    *reply = info;
    ++info_answers;
    return grpc::Status::OK;
  }

  grpc::Status GetStats(grpc::ServerContext* context, const pb::GetStatsRequest*, pb::EngineStats* reply) override {
    while (hang_stats) {
      if (!Wait(context, std::chrono::milliseconds(5))) return grpc::Status::CANCELLED;
    }
    reply->set_requests_total(11);
    reply->set_completion_tokens_total(22);
    reply->mutable_expert_cache()->set_slots(8);
    reply->mutable_expert_cache()->set_hits(3);
    reply->mutable_expert_cache()->set_misses(1);
    reply->mutable_cpu_tier()->set_isa("avx2");
    reply->mutable_lane_picks()->set_cpu(5);
    return grpc::Status::OK;
  }
};

FakeWorker::FakeWorker(Director director, const std::string& model_dir, const std::string& address)
    : impl_(std::make_unique<Impl>()) {
  impl_->director = std::move(director);
  pb::ModelInfo& info = impl_->info;
  info.set_state(pb::WORKER_STATE_READY);
  info.mutable_load()->set_ratio(1);
  info.mutable_load()->set_seconds(1.5);
  info.set_model_dir(model_dir);
  info.set_fingerprint("0123456789abcdef");
  info.set_vocab_size(kVocabulary);
  info.set_max_model_len(8192);
  for (const int32_t id : {4060, 4067, 4069}) info.add_eos_ids(id);
  info.set_mode("exact");
  info.set_backend("fake");
  info.set_max_running(64);
  info.set_kv_pool_tokens(16384);
  info.set_chunk_size(512);
  info.set_kv_type("f32");
  (*info.mutable_flags())["max-batch-size"] = "8";
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(impl_.get());
  impl_->server = builder.BuildAndStart();
  impl_->address = "127.0.0.1:" + std::to_string(port);
}

FakeWorker::~FakeWorker() { impl_->server->Shutdown(std::chrono::system_clock::now()); }

std::string FakeWorker::address() const { return impl_->address; }

void FakeWorker::SetState(engine::WorkerState state, double progress) {
  std::lock_guard lock(impl_->mutex);
  impl_->info.set_state(state == engine::WorkerState::kReady     ? pb::WORKER_STATE_READY
                        : state == engine::WorkerState::kLoading ? pb::WORKER_STATE_LOADING
                                                                 : pb::WORKER_STATE_DRAINING);
  impl_->info.mutable_load()->set_ratio(progress);
}

void FakeWorker::SetDegraded(bool degraded, const std::string& reason) {
  std::lock_guard lock(impl_->mutex);
  impl_->info.set_degraded(degraded);
  impl_->info.set_degraded_reason(reason);
}

void FakeWorker::SetMaxModelLen(uint32_t tokens) {
  std::lock_guard lock(impl_->mutex);
  impl_->info.set_max_model_len(tokens);
}

void FakeWorker::IgnoreInfoQuestions(int count) { impl_->ignored_questions = count; }
int FakeWorker::ignored_questions() const { return impl_->ignored_questions; }
int FakeWorker::info_answers() const { return impl_->info_answers; }

void FakeWorker::HangScores() { impl_->hang_scores = true; }
void FakeWorker::DelayScores(std::chrono::milliseconds before_first) { impl_->score_delay = before_first; }
void FakeWorker::HangStats() { impl_->hang_stats = true; }

void FakeWorker::RefuseScores(Status refuse) {
  std::lock_guard lock(impl_->mutex);
  impl_->score_refusal = std::move(refuse);
}

int FakeWorker::cancelled() const { return impl_->cancelled; }
int FakeWorker::running() const { return impl_->running; }

std::vector<engine::GenerateSpec> FakeWorker::seen() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->seen;
}

}  // namespace hearth::test
