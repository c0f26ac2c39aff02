#include "gpu_worker/service/to_proto.h"

#include "hearth/v1/engine.pb.h"

namespace hearth {
namespace {

void ToProto(const std::vector<TokenLogprob>& in, google::protobuf::RepeatedPtrField<v1::TokenLogprob>* out) {
  out->Reserve(static_cast<int>(in.size()));
  for (const TokenLogprob& entry : in) {
    v1::TokenLogprob* added = out->Add();
    added->set_id(entry.id);
    added->set_logprob(entry.logprob);
  }
}

}  // namespace

void ToProto(const TokenOutput& token, v1::Token* out) {
  out->set_id(token.id);
  if (token.logprob) out->set_logprob(*token.logprob);
  ToProto(token.top, out->mutable_top());
  if (token.logits_hash) out->set_logits_hash(*token.logits_hash);
}

void ToProto(const ScoreRowOutput& row, v1::ScoreRow* out) {
  out->set_row(static_cast<uint32_t>(row.row));
  ToProto(row.top, out->mutable_top());
  ToProto(row.chosen, out->mutable_chosen());
  if (row.next_logprob) out->set_next_logprob(*row.next_logprob);
  if (row.logits_hash) out->set_logits_hash(*row.logits_hash);
}

void ToProto(const LanePicks& picks, v1::LaneCounts* out) {
  out->set_vram(picks.vram);
  out->set_pcie(picks.pcie);
  out->set_cpu(picks.cpu);
  out->set_staged(picks.staged);
  out->set_late(picks.late);
}

void ToProto(const SamplingParams& params, v1::SamplingParams* out) {
  out->set_temperature(params.temperature);
  out->set_top_p(params.top_p);
  out->set_top_k(params.top_k);
  out->set_min_p(params.min_p);
  out->set_repetition_penalty(params.repetition_penalty);
  out->set_presence_penalty(params.presence_penalty);
  out->set_frequency_penalty(params.frequency_penalty);
  out->set_seed(params.seed);
  for (const auto& [id, bias] : params.logit_bias) (*out->mutable_logit_bias())[id] = bias;
}

void ToProto(const Outcome& outcome, const GenerateSpec& spec, bool deterministic, v1::Finished* out) {
  out->set_reason(outcome.reason == FinishReason::kStop ? v1::FINISH_REASON_STOP : v1::FINISH_REASON_LENGTH);
  if (outcome.stop_id) out->set_stop_id(*outcome.stop_id);
  const RequestUsage& in = outcome.usage;
  v1::Usage* usage = out->mutable_usage();
  usage->set_prompt_tokens(static_cast<uint32_t>(in.prompt_tokens));
  usage->set_completion_tokens(static_cast<uint32_t>(in.completion_tokens));
  usage->set_queue_seconds(in.queue_seconds);
  usage->set_prefill_seconds(in.prefill_seconds);
  usage->set_decode_seconds(in.decode_seconds);
  ToProto(in.picks, usage->mutable_picks());
  ToProto(spec.sampling, usage->mutable_effective_sampling());
  usage->set_deterministic(deterministic);
}

}  // namespace hearth
