#include "gateway/serving/chat_answer.h"

#include "gateway/serving/token_logprobs.h"

namespace hearth::serving {

ChatAnswer::ChatAnswer(const Services& services, ReadyModel model, openai::ResponseHead head,
                       const openai::ChatRequest& request, size_t prompt_tokens)
    : services_(services),
      model_(std::move(model)),
      head_(std::move(head)),
      include_usage_(request.stream.include_usage),
      with_logprobs_(request.top_logprobs >= 0),
      prompt_tokens_(prompt_tokens),
      ends_(static_cast<size_t>(request.n)) {
  const auto start =
      request.prompt.close_thinking ? text::OutputParser::Start::kContent : text::OutputParser::Start::kReasoning;
  for (int i = 0; i < request.n; ++i) {
    text::OutputParser parser(start, request.tools, request.tools_active,
                              /*text_or_calls=*/request.format.automaton != nullptr);
    choices_.push_back({ChatChoiceText(model_.text->tokenizer, std::move(parser), request.stops), {}, {}, {}});
    if (with_logprobs_) choices_.back().logprobs = OrderedJson::array();
  }
}

void ChatAnswer::Begin() {
  for (size_t i = 0; i < choices_.size(); ++i) SendChunk(i, {{"role", "assistant"}}, "");
}

bool ChatAnswer::OnToken(size_t index, const engine::Token& token) {
  Choice& choice = choices_[index];
  if (with_logprobs_) choice.logprobs.push_back(ChatLogprob(model_.text->tokenizer, token));
  Give(index, choice.text.Push(token.id));
  return !choice.text.stopped();
}

void ChatAnswer::OnEnd(size_t index, const ChoiceEnd& end) {
  Choice& choice = choices_[index];
  ends_[index] = end;
  if (!end.by_stop_string) Give(index, choice.text.Finish(end.by_length));
  const bool by_length = end.by_length && !choice.text.stopped();
  choice.finish_reason = by_length ? "length" : choice.text.has_calls() ? "tool_calls" : "stop";
  CountFinish(services_.metrics, choice.finish_reason);
  if (streaming()) SendChunk(index, OrderedJson::object(), choice.finish_reason);
}

void ChatAnswer::Give(size_t index, std::vector<text::Delta> deltas) {
  Choice& choice = choices_[index];
  for (const text::Delta& delta : deltas) {
    if (delta.text.empty() && delta.kind != text::Delta::Kind::kCallStart) continue;
    const std::string call_id = delta.kind == text::Delta::Kind::kCallStart ? NewId("call_") : "";
    if (streaming()) {
      SendChunk(index, openai::DeltaJson(delta, call_id), "");
    } else {
      choice.collected.Add(delta, call_id);
    }
  }
}

OrderedJson ChatAnswer::TakeLogprobs(Choice& choice) {
  if (!with_logprobs_ || choice.logprobs.empty()) return {};
  OrderedJson taken = OrderedJson::object();
  taken["content"] = std::exchange(choice.logprobs, OrderedJson::array());
  return taken;
}

void ChatAnswer::SendChunk(size_t index, OrderedJson delta, const std::string& finish) {
  OrderedJson chunk = openai::ChatChunk(head_, index, std::move(delta), TakeLogprobs(choices_[index]), finish);
  if (include_usage_) chunk["usage"] = nullptr;
  Send(chunk);
}

void ChatAnswer::EndStream(const GenerationRun& run) {
  if (include_usage_) Send(openai::ChatUsageChunk(head_, UsageJson(run, ends_, prompt_tokens_)));
}

OrderedJson ChatAnswer::Whole(const GenerationRun& run) {
  OrderedJson choices = OrderedJson::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    choices.push_back(openai::ChatChoice(i, choice.collected.Message(), TakeLogprobs(choice), choice.finish_reason));
  }
  return openai::ChatCompletion(head_, std::move(choices), UsageJson(run, ends_, prompt_tokens_));
}

std::string ChatAnswer::finish_reason() const { return choices_.front().finish_reason; }

}  // namespace hearth::serving
