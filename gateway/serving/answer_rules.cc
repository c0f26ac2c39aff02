#include "gateway/serving/answer_rules.h"

#include "gateway/grammar/tool_grammar.h"

namespace hearth::serving {
namespace {

Result<int32_t> Tag(const ReadyModel& model, const char* text) {
  if (const std::optional<int32_t> id = model.text->tokenizer.TokenId(text)) return *id;
  return InvalidArgument("this model's tokenizer has no ", text, ", so thinking and calls cannot be steered");
}

Status FindMarkup(const ReadyModel& model, grammar::MarkupIds& ids) {
  const std::pair<const char*, int32_t*> tags[] = {{"</think>", &ids.think_end},    {"<tool_call>", &ids.call},
                                                   {"</tool_call>", &ids.call_end}, {"<arg_key>", &ids.key},
                                                   {"</arg_key>", &ids.key_end},    {"<arg_value>", &ids.value},
                                                   {"</arg_value>", &ids.value_end}};
  for (const auto& [text, id] : tags) {
    Result<int32_t> found = Tag(model, text);
    if (!found.ok()) return found.status();
    *id = *found;
  }
  return Status::Ok();
}

}  // namespace

Status SetChatRules(const ReadyModel& model, const openai::ChatRequest& request, engine::GenerateSpec& spec) {
  const bool thinks = !request.prompt.close_thinking;
  // A call that began inside the thinking would be cut in two by the end of the budget.
  const bool calls =
      request.tools_active && (grammar::NeedsGrammar(request.tool_rules) || request.max_thinking_tokens.has_value());
  if (!calls && !request.format.automaton && !request.max_thinking_tokens) return Status::Ok();
  grammar::MarkupIds ids{};
  if (Status status = FindMarkup(model, ids); !status.ok()) return status;
  if (request.max_thinking_tokens) {
    spec.forced_after = {
        .n_tokens = *request.max_thinking_tokens, .ids = {ids.think_end}, .unless_seen = ids.think_end};
  }
  if (calls) {
    Result<std::string> automaton = grammar::CompileTools(request.tool_rules, ids);
    if (!automaton.ok()) return automaton.status();
    spec.constraint = {.automaton = std::make_shared<const std::string>(*std::move(automaton))};
  } else if (request.format.automaton) {
    spec.constraint = {.automaton = request.format.automaton};
    if (thinks) {
      spec.constraint->start_after = ids.think_end;
      spec.constraint->must_begin = true;
    }
  }
  return Status::Ok();
}

void BanUnknownIds(const ReadyModel& model, engine::SamplingParams& sampling) {
  const auto vocabulary = static_cast<int32_t>(model.info().vocab_size);
  for (const int32_t id : model.text->holes) sampling.logit_bias[id] = -100;
  for (int32_t id = model.text->tokenizer.vocab_size(); id < vocabulary; ++id) sampling.logit_bias[id] = -100;
}

}  // namespace hearth::serving
