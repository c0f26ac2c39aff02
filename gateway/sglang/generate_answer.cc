#include "gateway/sglang/generate_answer.h"

#include "gateway/sglang/logprob_lists.h"

namespace hearth::sglang {

GenerateAnswer::GenerateAnswer(const serving::Services& services, serving::ReadyModel model,
                               const GenerateRequest& request, size_t prompt_tokens, std::string id,
                               OrderedJson input_lists)
    : services_(services),
      model_(std::move(model)),
      request_(request),
      prompt_tokens_(prompt_tokens),
      id_(std::move(id)),
      choice_(model_.text->tokenizer, request.skip_special, request.stops),
      lists_(std::move(input_lists)) {
  if (request_.return_logprob) lists_["output_token_logprobs"] = OrderedJson::array();
  if (request_.return_logprob && request_.top_logprobs > 0) lists_["output_top_logprobs"] = OrderedJson::array();
  if (request_.logits_hash) lists_["output_logits_hash"] = OrderedJson::array();
}

bool GenerateAnswer::OnToken(size_t, const engine::Token& token) {
  ids_.push_back(token.id);
  if (request_.return_logprob)
    lists_["output_token_logprobs"].push_back(LogprobTriple(token.logprob.value_or(0), token.id));
  if (request_.return_logprob && request_.top_logprobs > 0) {
    lists_["output_top_logprobs"].push_back(LogprobTriples(token.top, request_.top_logprobs));
  }
  if (request_.logits_hash) lists_["output_logits_hash"].push_back(HashText(token.logits_hash.value_or(0)));
  text_ += choice_.Push(token.id);
  if (streaming() && !choice_.stopped()) Send(Event());
  return !choice_.stopped();
}

void GenerateAnswer::OnEnd(size_t, const serving::ChoiceEnd& end) {
  end_ = end;
  if (!end.by_stop_string) text_ += choice_.Finish();
  finish_ = end.by_length && !choice_.stopped() ? "length" : "stop";
  finish_json_ = {{"type", finish_}};
  if (finish_ == "length") finish_json_["length"] = ids_.size();
  if (end.stop_id) finish_json_["matched"] = *end.stop_id;
  serving::CountFinish(services_.metrics, finish_);
}

OrderedJson GenerateAnswer::Event() const {
  OrderedJson meta = {{"id", id_}, {"prompt_tokens", prompt_tokens_}, {"completion_tokens", ids_.size()}};
  meta["finish_reason"] = finish_json_;
  for (const auto& [name, list] : lists_.items()) meta[name] = list;
  OrderedJson event = {{"text", text_}, {"output_ids", ids_}};
  event["meta_info"] = std::move(meta);
  return event;
}

void GenerateAnswer::EndStream(const serving::GenerationRun& run) { Send(Whole(run)); }

OrderedJson GenerateAnswer::Whole(const serving::GenerationRun& run) {
  OrderedJson event = Event();
  event["meta_info"]["e2e_latency"] = run.seconds();
  event["meta_info"]["hearth"] = serving::UsageJson(run, {end_}, prompt_tokens_)["hearth"];
  return event;
}

}  // namespace hearth::sglang
