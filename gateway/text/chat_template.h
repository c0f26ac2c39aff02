#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/result.h"
#include "gateway/text/tokenizer.h"

namespace hearth::text {

using OrderedJson = nlohmann::ordered_json;

// What the template reads; arguments of tool calls are objects here. docs/chat_format.md says what becomes of each.
struct ChatInput {
  OrderedJson messages;  // array
  OrderedJson tools;     // array or null
  bool add_generation_prompt = true;
  OrderedJson reasoning_effort;  // string, null, or anything: only "low" and "high" matter
  bool clear_thinking = false;
  // Appends "</think>" after the generation prompt, which starts the answer outside reasoning.
  bool close_thinking = false;
};

// The prompt as segments; joining their texts gives the template's output, character by character.
Result<std::vector<Segment>> RenderChat(const ChatInput& input);

std::string JoinSegments(const std::vector<Segment>& segments);

}  // namespace hearth::text
