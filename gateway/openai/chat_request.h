#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "gateway/openai/answer_format.h"
#include "gateway/openai/shared_fields.h"
#include "gateway/openai/tool_choice.h"
#include "gateway/text/chat_template.h"

namespace hearth::openai {

// A validated chat request. Token ids, context length and the model's name are checked by whoever knows them.
struct ChatRequest {
  std::string session;  // picks the worker; may be empty
  std::string model;    // empty: not given
  text::ChatInput prompt;
  bool tools_active = false;      // tools given and tool_choice is not none
  OrderedJson tools;              // as given, for the output parser; null when inactive
  grammar::ToolRules tool_rules;  // when active
  AnswerFormat format;
  std::optional<uint32_t> max_thinking_tokens;
  engine::SamplingParams sampling;
  std::vector<std::string> stops;
  std::optional<uint32_t> max_tokens;
  int n = 1;
  int top_logprobs = -1;  // -1: no log-probabilities
  bool ignore_eos = false;
  StreamFields stream;
  std::vector<std::string> unknown_fields;
};

Result<ChatRequest> ParseChatRequest(const OrderedJson& body, bool strict);

}  // namespace hearth::openai
