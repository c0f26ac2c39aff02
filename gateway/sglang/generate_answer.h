#pragma once

#include <string>
#include <vector>

#include "gateway/serving/answer.h"
#include "gateway/serving/choice_text.h"
#include "gateway/sglang/generate_request.h"

namespace hearth::sglang {

// A generation in the SGLang shape: every event carries the text so far.
class GenerateAnswer : public serving::Answer {
 public:
  // `input_lists`: members for meta_info that the prompt's scoring gave, or an empty object.
  GenerateAnswer(const serving::Services& services, serving::ReadyModel model, const GenerateRequest& request,
                 size_t prompt_tokens, std::string id, OrderedJson input_lists);

  bool OnToken(size_t choice, const engine::Token& token) override;
  void OnEnd(size_t choice, const serving::ChoiceEnd& end) override;
  void EndStream(const serving::GenerationRun& run) override;
  OrderedJson Whole(const serving::GenerationRun& run) override;
  std::string finish_reason() const override { return finish_; }

 private:
  OrderedJson Event() const;

  const serving::Services& services_;
  const serving::ReadyModel model_;
  const GenerateRequest request_;
  const size_t prompt_tokens_;
  const std::string id_;
  serving::PlainChoiceText choice_;
  std::string text_;  // so far
  std::vector<int32_t> ids_;
  OrderedJson lists_;  // of meta_info
  OrderedJson finish_json_;
  std::string finish_;
  serving::ChoiceEnd end_;
};

}  // namespace hearth::sglang
