#include "gateway/worker_client/engine_convert.h"

namespace hearth::engine {
namespace {

void SetSampling(const SamplingParams& from, pb::SamplingParams& to) {
  if (from.temperature) to.set_temperature(*from.temperature);
  if (from.top_p) to.set_top_p(*from.top_p);
  if (from.top_k) to.set_top_k(*from.top_k);
  if (from.min_p) to.set_min_p(*from.min_p);
  if (from.repetition_penalty) to.set_repetition_penalty(*from.repetition_penalty);
  if (from.presence_penalty) to.set_presence_penalty(*from.presence_penalty);
  if (from.frequency_penalty) to.set_frequency_penalty(*from.frequency_penalty);
  if (from.seed) to.set_seed(*from.seed);
  for (const auto& [id, bias] : from.logit_bias) (*to.mutable_logit_bias())[id] = bias;
}

SamplingParams GetSampling(const pb::SamplingParams& from) {
  SamplingParams to;
  if (from.has_temperature()) to.temperature = from.temperature();
  if (from.has_top_p()) to.top_p = from.top_p();
  if (from.has_top_k()) to.top_k = from.top_k();
  if (from.has_min_p()) to.min_p = from.min_p();
  if (from.has_repetition_penalty()) to.repetition_penalty = from.repetition_penalty();
  if (from.has_presence_penalty()) to.presence_penalty = from.presence_penalty();
  if (from.has_frequency_penalty()) to.frequency_penalty = from.frequency_penalty();
  if (from.has_seed()) to.seed = from.seed();
  for (const auto& [id, bias] : from.logit_bias()) to.logit_bias[id] = bias;
  return to;
}

LaneCounts GetLanes(const pb::LaneCounts& from) {
  return {from.vram(), from.pcie(), from.cpu(), from.staged(), from.late()};
}

LoadProgress GetLoad(const pb::LoadProgress& from) {
  return {from.ratio(), from.bytes_done(), from.bytes_total(), from.seconds(), from.adopted()};
}

WorkerState GetState(pb::WorkerState from) {
  switch (from) {
    case pb::WORKER_STATE_LOADING:
      return WorkerState::kLoading;
    case pb::WORKER_STATE_READY:
      return WorkerState::kReady;
    case pb::WORKER_STATE_DRAINING:
      return WorkerState::kDraining;
    default:
      return WorkerState::kUnknown;
  }
}

std::vector<TokenLogprob> GetLogprobs(const google::protobuf::RepeatedPtrField<pb::TokenLogprob>& from) {
  std::vector<TokenLogprob> to;
  to.reserve(from.size());
  for (const pb::TokenLogprob& entry : from) to.push_back({entry.id(), entry.logprob()});
  return to;
}

Token GetToken(const pb::Token& from) {
  Token to{.id = from.id(), .top = GetLogprobs(from.top())};
  if (from.has_logprob()) to.logprob = from.logprob();
  if (from.has_logits_hash()) to.logits_hash = from.logits_hash();
  return to;
}

Usage GetUsage(const pb::Usage& from) {
  return {.prompt_tokens = from.prompt_tokens(),
          .completion_tokens = from.completion_tokens(),
          .queue_seconds = from.queue_seconds(),
          .prefill_seconds = from.prefill_seconds(),
          .decode_seconds = from.decode_seconds(),
          .picks = GetLanes(from.picks()),
          .effective_sampling = GetSampling(from.effective_sampling()),
          .deterministic = from.deterministic()};
}

}  // namespace

pb::GenerateRequest ToProto(const GenerateSpec& spec) {
  pb::GenerateRequest request;
  request.set_request_id(spec.request_id);
  request.mutable_prompt_ids()->Assign(spec.prompt_ids.begin(), spec.prompt_ids.end());
  if (spec.max_tokens) request.set_max_tokens(*spec.max_tokens);
  SetSampling(spec.sampling, *request.mutable_sampling());
  request.mutable_stop_ids()->Assign(spec.stop_ids.begin(), spec.stop_ids.end());
  request.set_ignore_eos(spec.ignore_eos);
  if (spec.constraint) {
    pb::Constraint& constraint = *request.mutable_constraint();
    constraint.set_automaton(*spec.constraint->automaton);
    if (spec.constraint->start_after) constraint.set_start_after(*spec.constraint->start_after);
    constraint.set_must_begin(spec.constraint->must_begin);
  }
  if (spec.forced_after) {
    pb::ForcedAfter& forced = *request.mutable_forced_after();
    forced.set_n_tokens(spec.forced_after->n_tokens);
    forced.mutable_ids()->Assign(spec.forced_after->ids.begin(), spec.forced_after->ids.end());
    if (spec.forced_after->unless_seen) forced.set_unless_seen(*spec.forced_after->unless_seen);
  }
  request.set_top_logprobs(spec.top_logprobs);
  request.set_logits_hash(spec.logits_hash);
  return request;
}

pb::ScoreRequest ToProto(const ScoreSpec& spec) {
  pb::ScoreRequest request;
  request.set_request_id(spec.request_id);
  request.mutable_ids()->Assign(spec.ids.begin(), spec.ids.end());
  request.set_first_row(spec.first_row);
  request.set_top_k(spec.top_k);
  request.mutable_chosen()->Assign(spec.chosen.begin(), spec.chosen.end());
  request.set_path(spec.decode ? pb::ScoreRequest::DECODE : pb::ScoreRequest::PREFILL);
  request.set_decode_from(spec.decode_from);
  request.set_logits_hash(spec.logits_hash);
  return request;
}

decltype(Event::what) FromProto(pb::GenerateResponse&& message) {
  switch (message.event_case()) {
    case pb::GenerateResponse::kAccepted:
      return Accepted{message.accepted().queue_position(), message.accepted().seed()};
    case pb::GenerateResponse::kTokens: {
      Tokens tokens;
      for (const pb::Token& token : message.tokens().tokens()) tokens.tokens.push_back(GetToken(token));
      return tokens;
    }
    case pb::GenerateResponse::kFinished: {
      const pb::Finished& from = message.finished();
      Finished finished{.by_length = from.reason() == pb::FINISH_REASON_LENGTH, .usage = GetUsage(from.usage())};
      if (from.has_stop_id()) finished.stop_id = from.stop_id();
      return finished;
    }
    default:
      return Failed{Internal("the worker sent a message without an event")};
  }
}

ScoreRow FromProto(const pb::ScoreRow& from) {
  ScoreRow to{.row = from.row(), .top = GetLogprobs(from.top()), .chosen = GetLogprobs(from.chosen())};
  if (from.has_next_logprob()) to.next_logprob = from.next_logprob();
  if (from.has_logits_hash()) to.logits_hash = from.logits_hash();
  return to;
}

ModelInfo FromProto(const pb::ModelInfo& from) {
  return {.state = GetState(from.state()),
          .load = GetLoad(from.load()),
          .model_dir = from.model_dir(),
          .fingerprint = from.fingerprint(),
          .vocab_size = from.vocab_size(),
          .max_model_len = from.max_model_len(),
          .eos_ids = {from.eos_ids().begin(), from.eos_ids().end()},
          .default_temperature = from.default_temperature(),
          .default_top_p = from.default_top_p(),
          .mode = from.mode(),
          .backend = from.backend(),
          .kv_type = from.kv_type(),
          .version = from.version(),
          .max_running = from.max_running(),
          .max_queue = from.max_queue(),
          .kv_pool_tokens = from.kv_pool_tokens(),
          .chunk_size = from.chunk_size(),
          .flags = {from.flags().begin(), from.flags().end()},
          .degraded = from.degraded(),
          .degraded_reason = from.degraded_reason()};
}

EngineStats FromProto(const pb::EngineStats& from) {
  const pb::CacheStats& cache = from.expert_cache();
  const pb::CpuLaneStats& cpu = from.cpu_tier();
  EngineStats to;
  to.requests_running = from.requests_running();
  to.requests_waiting = from.requests_waiting();
  to.requests_total = from.requests_total();
  to.prompt_tokens_total = from.prompt_tokens_total();
  to.completion_tokens_total = from.completion_tokens_total();
  to.cache = {cache.slots(),  cache.used(),       cache.lent(),     cache.hits(),
              cache.misses(), cache.admissions(), cache.evictions()};
  to.cpu_tier = {cpu.up(),  cpu.jobs(),     cpu.experts(), cpu.timeouts(), cpu.wait_ms_per_job(),
                 cpu.isa(), cpu.selftest(), cpu.threads()};
  to.lane_picks = GetLanes(from.lane_picks());
  to.lane_bytes = GetLanes(from.lane_bytes());
  to.load = GetLoad(from.load());
  to.state = GetState(from.state());
  to.decode_steps = from.decode_steps();
  to.kv_tokens_used = from.kv_tokens_used();
  to.kv_tokens_total = from.kv_tokens_total();
  to.sequences_paused = from.sequences_paused();
  return to;
}

}  // namespace hearth::engine
