#include "gateway/openai/completion_request.h"

#include <limits>

#include "gateway/openai/field_table.h"

namespace hearth::openai {
namespace {

constexpr char kExpected[] = "expected a string, a list of strings, a list of token ids or a list of such lists";

void ReadPrompts(FieldReader& fields, std::vector<Prompt>& prompts) {
  const OrderedJson* prompt = fields.Get("prompt");
  if (prompt == nullptr) {
    fields.Fail("prompt", "is missing");
    return;
  }
  if (prompt->is_string()) {
    prompts.emplace_back(prompt->get<std::string>());
    return;
  }
  if (!prompt->is_array() || prompt->empty()) {
    fields.Fail("prompt", StrCat("is ", prompt->is_array() ? "an empty list" : Shown(*prompt), ", ", kExpected));
    return;
  }
  if (auto ids = ReadTokenIds(*prompt)) {
    prompts.emplace_back(*std::move(ids));
    return;
  }
  if (prompt->size() > kMaxPrompts) {
    fields.Fail("prompt", StrCat("has ", prompt->size(), " prompts, at most ", kMaxPrompts));
    return;
  }
  for (const OrderedJson& one : *prompt) {
    if (one.is_string()) {
      prompts.emplace_back(one.get<std::string>());
    } else if (auto ids = ReadTokenIds(one)) {
      prompts.emplace_back(*std::move(ids));
    } else {
      fields.Fail("prompt", StrCat("holds ", Shown(one), ", ", kExpected));
      return;
    }
    if (prompts.back().index() != prompts.front().index()) {
      fields.Fail("prompt", StrCat("holds both strings and lists of token ids, ", kExpected));
      return;
    }
  }
}

}  // namespace

std::optional<std::vector<int32_t>> ReadTokenIds(const OrderedJson& value) {
  if (!value.is_array() || value.empty()) return {};
  std::vector<int32_t> ids;
  ids.reserve(value.size());
  for (const OrderedJson& one : value) {
    const auto id = WholeNumber(one);
    if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max()) return {};
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

Result<CompletionRequest> ParseCompletionRequest(const OrderedJson& body, bool strict) {
  CompletionRequest request;
  if (Status status = CheckFields(body, CompletionFields(), strict, request.unknown_fields); !status.ok())
    return status;
  FieldReader fields(body);
  request.model = ReadModel(fields);
  if (fields.ok()) ReadPrompts(fields, request.prompts);
  request.session = ReadSession(fields);
  request.format = ReadAnswerFormat(fields);
  request.sampling = ReadSampling(fields);
  request.stops = ReadStops(fields);
  request.echo = fields.Bool("echo").value_or(false);
  const auto max_tokens =
      fields.Integer("max_tokens", request.echo ? 0 : 1, int64_t{std::numeric_limits<uint32_t>::max()});
  if (max_tokens) request.max_tokens = static_cast<uint32_t>(*max_tokens);
  request.n = static_cast<int>(fields.Integer("n", 1, kMaxChoices).value_or(1));
  request.logprobs = static_cast<int>(fields.Integer("logprobs", 0, kMaxTopLogprobs).value_or(-1));
  request.ignore_eos = fields.Bool("ignore_eos").value_or(false);
  request.stream = ReadStream(fields);
  if (fields.ok() && request.prompts.size() * static_cast<size_t>(request.n) > kMaxCompletionChoices) {
    fields.Fail("n", StrCat("times the number of prompts is ", request.prompts.size() * request.n, ", at most ",
                            kMaxCompletionChoices));
  }
  if (!fields.ok()) return fields.status();
  return request;
}

}  // namespace hearth::openai
