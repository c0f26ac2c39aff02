#include "gateway/openai/chat_request.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "gateway/openai/chat_messages.h"
#include "gateway/openai/field_table.h"
#include "gateway/openai/inner_fields.h"
#include "gateway/text/json_text.h"

namespace hearth::openai {
namespace {

// What decides how much the model thinks, from the request or from its chat_template_kwargs.
struct Thinking {
  std::optional<std::string> effort;
  std::optional<bool> enabled;
  std::optional<bool> clear;
};

bool IsEffort(const std::string& word) {
  constexpr std::string_view kWords[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

std::optional<bool> ReadThinkingSwitch(FieldReader& fields) {
  const OrderedJson* value = fields.Get("thinking");
  if (value == nullptr) return {};
  if (value->is_boolean()) return value->get<bool>();
  const OrderedJson* type = text::FindMember(*value, "type");
  if (type != nullptr && value->size() == 1 && *type == "enabled") return true;
  if (type != nullptr && value->size() == 1 && *type == "disabled") return false;
  fields.Fail("thinking", "must be {\"type\": \"enabled\"}, {\"type\": \"disabled\"}, true or false");
  return {};
}

Thinking ReadThinking(FieldReader& fields) {
  Thinking read;
  read.effort = fields.String("reasoning_effort");
  if (read.effort && !IsEffort(*read.effort)) {
    fields.Fail("reasoning_effort",
                StrCat("is ", Shown(*read.effort), ", expected none, minimal, low, medium, high, xhigh or max"));
  }
  read.enabled = fields.Bool("enable_thinking");
  if (const auto thinking = ReadThinkingSwitch(fields); thinking) {
    if (read.enabled && *read.enabled != *thinking) fields.Fail("thinking", "contradicts enable_thinking");
    read.enabled = thinking;
  }
  if (read.effort == "none") {
    if (read.enabled.value_or(false)) fields.Fail("reasoning_effort", "of none contradicts thinking, which is switched on");
    read.enabled = false;
  }
  read.clear = fields.Bool("clear_thinking");
  return read;
}

// Of none only the switch is left, see above.
void ApplyEffort(const std::string& effort, ChatRequest& request) {
  if (effort == "low" || effort == "minimal") {
    request.prompt.reasoning_effort = "low";
  } else if (effort == "high" || effort == "medium") {
    request.prompt.reasoning_effort = "high";
  } else if (effort == "max" || effort == "xhigh") {
    request.prompt.reasoning_effort = "max";
  }
}

void ReadThinkingControls(FieldReader& fields, ChatRequest& request) {
  Thinking own = ReadThinking(fields);
  if (const OrderedJson* kwargs = fields.Object("chat_template_kwargs"); kwargs != nullptr) {
    FieldReader inner(*kwargs, "chat_template_kwargs.");
    for (const auto& [name, value] : kwargs->items()) {
      if (!value.is_null() && name != "reasoning_effort" && name != "enable_thinking" && name != "thinking" && name != "clear_thinking") {
        inner.Fail(name, "is not known here");
      }
    }
    const Thinking theirs = ReadThinking(inner);
    if (!inner.ok()) fields.Fail(inner.status());
    if (!own.effort) own.effort = theirs.effort;
    if (!own.enabled) own.enabled = theirs.enabled;
    if (!own.clear) own.clear = theirs.clear;
  }
  if (own.effort) ApplyEffort(*own.effort, request);
  // The effort line stays what it would have been: switching thinking off does not change the prompt's beginning.
  if (own.enabled) request.prompt.close_thinking = !*own.enabled;
  request.prompt.clear_thinking = own.clear.value_or(false);
}

// The answer's form, given the tools: an answer that may call is calls or of the form. Only JSON can be told from calls
// by its first character.
void ReadForm(FieldReader& fields, ChatRequest& request) {
  ToolFields tools = ReadTools(fields);
  request.format = ReadAnswerFormat(fields);
  if (!tools.active) return;
  if (request.format.automaton && request.format.field != "response_format") {
    fields.Fail(request.format.field, "beside tools needs tool_choice to be \"none\"");
  } else if (request.format.automaton && tools.rules.must_call) {
    fields.Fail(request.format.field, "beside tools needs tool_choice to be \"auto\" or \"none\"");
  }
  request.tools_active = true;
  request.tools = tools.rules.tools;
  request.prompt.tools = tools.rules.tools;
  request.tool_rules = std::move(tools.rules);
  request.tool_rules.in_reasoning = !request.prompt.close_thinking;
  request.tool_rules.text_form = request.format.automaton;
  if (grammar::NeedsGrammar(request.tool_rules) && fields.Bool("ignore_eos").value_or(false)) {
    fields.Fail("ignore_eos", "must be false where calls are enforced");
  }
}

void ReadThinkingBudget(FieldReader& fields, ChatRequest& request) {
  const auto budget = fields.Integer("max_thinking_tokens", 0, std::numeric_limits<uint32_t>::max());
  if (!budget) return;
  if (request.prompt.close_thinking) fields.Fail("max_thinking_tokens", "needs thinking, which is switched off");
  request.max_thinking_tokens = static_cast<uint32_t>(*budget);
}

void ReadMaxTokens(FieldReader& fields, ChatRequest& request) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  const auto old_name = fields.Integer("max_tokens", 1, kMost);
  const auto new_name = fields.Integer("max_completion_tokens", 1, kMost);
  if (old_name && new_name && *old_name != *new_name) fields.Fail("max_tokens", "contradicts max_completion_tokens");
  if (old_name) request.max_tokens = static_cast<uint32_t>(*old_name);
  if (new_name) request.max_tokens = static_cast<uint32_t>(*new_name);
}

void ReadLogprobs(FieldReader& fields, ChatRequest& request) {
  const bool wanted = fields.Bool("logprobs").value_or(false);
  const auto top = fields.Integer("top_logprobs", 0, kMaxTopLogprobs);
  if (top && *top > 0 && !wanted) fields.Fail("top_logprobs", "needs logprobs to be true");
  request.top_logprobs = wanted ? static_cast<int>(top.value_or(0)) : -1;
}

}  // namespace

Result<ChatRequest> ParseChatRequest(const OrderedJson& body, bool strict) {
  ChatRequest request;
  if (Status status = CheckFields(body, ChatFields(), strict, request.unknown_fields); !status.ok()) return status;
  FieldReader fields(body);
  request.model = ReadModel(fields);
  if (!fields.ok()) return fields.status();
  const OrderedJson* messages = fields.Get("messages");
  if (messages == nullptr) return InvalidArgument("messages is missing").WithParam("messages");
  Result<OrderedJson> normalized = NormalizeMessages(*messages, fields.Get("tools"));
  if (!normalized.ok()) return normalized.status();
  request.prompt.messages = *std::move(normalized);
  if (Status status = CheckInnerFields(body, strict, request.unknown_fields); !status.ok()) return status;
  ReadThinkingControls(fields, request);
  ReadThinkingBudget(fields, request);
  ReadForm(fields, request);
  request.session = ReadSession(fields);
  request.sampling = ReadSampling(fields);
  request.stops = ReadStops(fields);
  ReadMaxTokens(fields, request);
  ReadLogprobs(fields, request);
  request.n = static_cast<int>(fields.Integer("n", 1, kMaxChoices).value_or(1));
  request.ignore_eos = fields.Bool("ignore_eos").value_or(false);
  request.stream = ReadStream(fields);
  if (!fields.ok()) return fields.status();
  return request;
}

}  // namespace hearth::openai
