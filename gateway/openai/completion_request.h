#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/result.h"
#include "gateway/openai/answer_format.h"
#include "gateway/openai/shared_fields.h"

namespace hearth::openai {

constexpr size_t kMaxPrompts = 64;
constexpr size_t kMaxCompletionChoices = 64;  // over all prompts

using Prompt = std::variant<std::string, std::vector<int32_t>>;

// A validated completion request. Token ids, context length and the model's name are checked by whoever knows them.
struct CompletionRequest {
  std::string session;  // picks the worker; may be empty
  std::string model;
  std::vector<Prompt> prompts;
  AnswerFormat format;
  engine::SamplingParams sampling;
  std::vector<std::string> stops;
  std::optional<uint32_t> max_tokens;  // 0 only with echo
  int n = 1;
  int logprobs = -1;
  bool echo = false;
  bool ignore_eos = false;
  StreamFields stream;
  std::vector<std::string> unknown_fields;
};

Result<CompletionRequest> ParseCompletionRequest(const OrderedJson& body, bool strict);

// A non-empty list of token ids, or nothing. Ids are not negative; their upper end is the vocabulary's.
std::optional<std::vector<int32_t>> ReadTokenIds(const OrderedJson& value);

}  // namespace hearth::openai
