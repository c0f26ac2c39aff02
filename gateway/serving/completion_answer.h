#pragma once

#include <string>
#include <vector>

#include "gateway/openai/completion_request.h"
#include "gateway/serving/answer.h"
#include "gateway/serving/choice_text.h"
#include "gateway/serving/token_logprobs.h"

namespace hearth::serving {

// A prompt as it is echoed: its text and, when asked for, one logprobs entry a token.
struct PromptEcho {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<engine::ScoreRow> rows;  // row i predicts ids[i + 1]; empty without log-probabilities
};

// Plain completions in the OpenAI shape. Choice i belongs to prompt i / n.
class CompletionAnswer : public Answer {
 public:
  // `echoes`: one a prompt, or none.
  CompletionAnswer(const Services& services, ReadyModel model, openai::ResponseHead head,
                   const openai::CompletionRequest& request, size_t prompt_tokens, std::vector<PromptEcho> echoes);

  void Begin() override;
  bool OnToken(size_t choice, const engine::Token& token) override;
  void OnEnd(size_t choice, const ChoiceEnd& end) override;
  void EndStream(const GenerationRun& run) override;
  OrderedJson Whole(const GenerationRun& run) override;
  std::string finish_reason() const override;

  // No choice will be generated: each ends at once, at its limit.
  void AlreadyEnded() { nothing_generated_ = true; }

 private:
  struct Choice {
    PlainChoiceText text;
    CompletionLogprobs logprobs;
    std::string collected;
    std::string finish_reason;
  };

  void EchoPrompt(size_t index);
  void Give(size_t index, const std::string& text, bool at_end);

  const Services& services_;
  const ReadyModel model_;
  const openai::ResponseHead head_;
  const bool include_usage_;
  const bool with_logprobs_;
  const size_t choices_a_prompt_;
  const size_t prompt_tokens_;
  const std::vector<PromptEcho> echoes_;
  std::vector<Choice> choices_;
  std::vector<ChoiceEnd> ends_;
  bool begun_ = false;
  bool nothing_generated_ = false;
};

}  // namespace hearth::serving
