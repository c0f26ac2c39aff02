#include "gateway/serving/completion_answer.h"

namespace hearth::serving {

CompletionAnswer::CompletionAnswer(const Services& services, ReadyModel model, openai::ResponseHead head,
                                   const openai::CompletionRequest& request, size_t prompt_tokens,
                                   std::vector<PromptEcho> echoes)
    : services_(services),
      model_(std::move(model)),
      head_(std::move(head)),
      include_usage_(request.stream.include_usage),
      with_logprobs_(request.logprobs >= 0),
      choices_a_prompt_(static_cast<size_t>(request.n)),
      prompt_tokens_(prompt_tokens),
      echoes_(std::move(echoes)) {
  const size_t count = request.prompts.size() * choices_a_prompt_;
  for (size_t i = 0; i < count; ++i) {
    choices_.push_back({PlainChoiceText(model_.text->tokenizer, /*skip_special=*/true, request.stops),
                        CompletionLogprobs(model_.text->tokenizer, request.echo),
                        {},
                        {}});
  }
  ends_.resize(count);
}

void CompletionAnswer::Begin() {
  if (std::exchange(begun_, true)) return;
  for (size_t i = 0; i < echoes_.size() * choices_a_prompt_; ++i) EchoPrompt(i);
  if (!nothing_generated_) return;
  for (size_t i = 0; i < choices_.size(); ++i) OnEnd(i, {.by_length = true});
}

void CompletionAnswer::EchoPrompt(size_t index) {
  const PromptEcho& echo = echoes_[index / choices_a_prompt_];
  if (with_logprobs_) {
    for (size_t i = 0; i < echo.ids.size(); ++i) {
      CompletionLogprobs& logprobs = choices_[index].logprobs;
      if (i == 0) {
        logprobs.Add(echo.ids[0], std::nullopt, {});
      } else {
        logprobs.Add(echo.ids[i], echo.rows[i - 1].next_logprob, echo.rows[i - 1].top);
      }
    }
    choices_[index].logprobs.EndPrompt();
  }
  Give(index, echo.text, /*at_end=*/false);
}

bool CompletionAnswer::OnToken(size_t index, const engine::Token& token) {
  Begin();
  Choice& choice = choices_[index];
  if (with_logprobs_) choice.logprobs.Add(token.id, token.logprob, token.top);
  Give(index, choice.text.Push(token.id), /*at_end=*/false);
  return !choice.text.stopped();
}

void CompletionAnswer::OnEnd(size_t index, const ChoiceEnd& end) {
  Begin();
  Choice& choice = choices_[index];
  ends_[index] = end;
  const std::string rest = end.by_stop_string ? "" : choice.text.Finish();
  choice.finish_reason = end.by_length && !choice.text.stopped() ? "length" : "stop";
  CountFinish(services_.metrics, choice.finish_reason);
  Give(index, rest, /*at_end=*/true);
}

void CompletionAnswer::Give(size_t index, const std::string& text, bool at_end) {
  Choice& choice = choices_[index];
  if (!streaming()) {
    choice.collected += text;
    return;
  }
  if (text.empty() && !at_end) return;
  OrderedJson logprobs = choice.logprobs.Take();
  OrderedJson event = openai::TextCompletion(
      head_, OrderedJson::array({openai::CompletionChoice(index, text, std::move(logprobs), choice.finish_reason)}));
  if (include_usage_) event["usage"] = nullptr;
  Send(event);
}

void CompletionAnswer::EndStream(const GenerationRun& run) {
  if (!include_usage_) return;
  OrderedJson event = openai::TextCompletion(head_, OrderedJson::array());
  event["usage"] = UsageJson(run, ends_, prompt_tokens_);
  Send(event);
}

OrderedJson CompletionAnswer::Whole(const GenerationRun& run) {
  Begin();
  OrderedJson choices = OrderedJson::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    choices.push_back(openai::CompletionChoice(i, choice.collected, choice.logprobs.Take(), choice.finish_reason));
  }
  OrderedJson response = openai::TextCompletion(head_, std::move(choices));
  response["usage"] = UsageJson(run, ends_, prompt_tokens_);
  return response;
}

std::string CompletionAnswer::finish_reason() const { return choices_.front().finish_reason; }

}  // namespace hearth::serving
