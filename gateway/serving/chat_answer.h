#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/openai/chat_request.h"
#include "gateway/serving/answer.h"
#include "gateway/serving/choice_text.h"

namespace hearth::serving {

// Chat answers in the OpenAI shape: chunks when streaming, else the same deltas collected.
class ChatAnswer : public Answer {
 public:
  ChatAnswer(const Services& services, ReadyModel model, openai::ResponseHead head, const openai::ChatRequest& request,
             size_t prompt_tokens);

  void Begin() override;
  bool OnToken(size_t choice, const engine::Token& token) override;
  void OnEnd(size_t choice, const ChoiceEnd& end) override;
  void EndStream(const GenerationRun& run) override;
  OrderedJson Whole(const GenerationRun& run) override;
  std::string finish_reason() const override;

 private:
  struct Choice {
    ChatChoiceText text;
    openai::MessageCollector collected;
    OrderedJson logprobs;  // entries not sent yet; null when not asked for
    std::string finish_reason;
  };

  void Give(size_t index, std::vector<text::Delta> deltas);
  void SendChunk(size_t index, OrderedJson delta, const std::string& finish);
  OrderedJson TakeLogprobs(Choice& choice);

  const Services& services_;
  const ReadyModel model_;
  const openai::ResponseHead head_;
  const bool include_usage_;
  const bool with_logprobs_;
  const size_t prompt_tokens_;
  std::vector<Choice> choices_;
  std::vector<ChoiceEnd> ends_;
};

}  // namespace hearth::serving
