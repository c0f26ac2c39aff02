#include "gateway/text/hearth_text.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "gateway/text/chat_template.h"
#include "gateway/text/message_text.h"
#include "gateway/text/output_parser.h"

namespace hearth::text {
namespace {

using Answer = Result<OrderedJson>;

Status OnlyKnown(const OrderedJson& input, std::initializer_list<std::string_view> known) {
  if (!input.is_object()) return InvalidArgument("the input line is not a JSON object");
  for (const auto& [key, value] : input.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      return InvalidArgument("unknown member \"", key, "\"");
  }
  return Status::Ok();
}

const OrderedJson& MemberOrNull(const OrderedJson& object, std::string_view name) {
  static const OrderedJson null;
  const OrderedJson* found = FindMember(object, name);
  return found ? *found : null;
}

Answer Render(const OrderedJson& input) {
  if (Status s = OnlyKnown(input, {"messages", "tools", "kwargs", "add_generation_prompt"}); !s.ok()) return s;
  ChatInput chat;
  chat.messages = MemberOrNull(input, "messages");
  chat.tools = MemberOrNull(input, "tools");
  const OrderedJson* generation = FindMember(input, "add_generation_prompt");
  if (generation && !generation->is_boolean()) return InvalidArgument("add_generation_prompt is not true or false");
  chat.add_generation_prompt = generation && generation->get<bool>();
  const OrderedJson& kwargs = MemberOrNull(input, "kwargs");
  if (!kwargs.is_null() && !kwargs.is_object()) return InvalidArgument("kwargs is not an object");
  // The template reads these two variables; any other has no effect on it.
  chat.reasoning_effort = MemberOrNull(kwargs, "reasoning_effort");
  chat.clear_thinking = IsTruthy(FindMember(kwargs, "clear_thinking"));
  const Result<std::vector<Segment>> segments = RenderChat(chat);
  if (!segments.ok()) return segments.status();
  return OrderedJson{{"prompt", JoinSegments(*segments)}};
}

Result<std::vector<std::string>> ParseChunks(const OrderedJson& input) {
  const OrderedJson* text = FindMember(input, "text");
  const OrderedJson* chunks = FindMember(input, "chunks");
  if (chunks) {
    if (!chunks->is_array()) return InvalidArgument("chunks is not a list");
    std::vector<std::string> out;
    for (const auto& chunk : *chunks) {
      if (!chunk.is_string()) return InvalidArgument("chunks has an entry that is not a string");
      out.push_back(chunk.get<std::string>());
    }
    return out;
  }
  if (!text || !text->is_string()) return InvalidArgument("expected a string \"text\" or a list \"chunks\"");
  return std::vector<std::string>{text->get<std::string>()};
}

OrderedJson TextOrNull(const std::string& text) { return text.empty() ? OrderedJson() : OrderedJson(text); }

Answer Parse(const OrderedJson& input) {
  if (Status s = OnlyKnown(input, {"text", "chunks", "starts_in", "tools", "tool_choice", "stop"}); !s.ok()) return s;
  const Result<std::vector<std::string>> chunks = ParseChunks(input);
  if (!chunks.ok()) return chunks.status();
  const OrderedJson& starts_in = MemberOrNull(input, "starts_in");
  if (!starts_in.is_null() && starts_in != "reasoning" && starts_in != "content") {
    return InvalidArgument("starts_in is neither \"reasoning\" nor \"content\"");
  }
  const OrderedJson& stop = MemberOrNull(input, "stop");
  if (!stop.is_null() && stop != "stop" && stop != "length")
    return InvalidArgument("stop is neither \"stop\" nor \"length\"");
  const OrderedJson& tools = MemberOrNull(input, "tools");
  if (!tools.is_null() && !tools.is_array()) return InvalidArgument("tools is not a list");
  const bool tools_active = !tools.empty() && MemberOrNull(input, "tool_choice") != "none";
  OutputParser parser(starts_in == "content" ? OutputParser::Start::kContent : OutputParser::Start::kReasoning, tools,
                      tools_active);
  for (const std::string& chunk : *chunks) parser.Push(chunk);
  const bool cut = stop == "length";
  parser.Finish(cut);
  const ParsedOutput& output = parser.result();
  OrderedJson calls = OrderedJson::array();
  for (const auto& call : output.calls) calls.push_back({{"name", call.name}, {"arguments_text", call.arguments}});
  return OrderedJson{{"reasoning_content", TextOrNull(output.reasoning)},
                     {"content", TextOrNull(output.content)},
                     {"tool_calls", std::move(calls)},
                     {"finish_reason", cut                  ? "length"
                                       : parser.has_calls() ? "tool_calls"
                                                            : "stop"}};
}

Answer Tokenize(const Tokenizer& tokenizer, const OrderedJson& input) {
  if (Status s = OnlyKnown(input, {"text"}); !s.ok()) return s;
  const OrderedJson& text = MemberOrNull(input, "text");
  if (!text.is_string()) return InvalidArgument("text is not a string");
  return OrderedJson{{"tokens", tokenizer.Encode(text.get_ref<const std::string&>())}};
}

Answer Detokenize(const Tokenizer& tokenizer, const OrderedJson& input) {
  if (Status s = OnlyKnown(input, {"tokens"}); !s.ok()) return s;
  const OrderedJson& tokens = MemberOrNull(input, "tokens");
  if (!tokens.is_array()) return InvalidArgument("tokens is not a list");
  std::vector<int32_t> ids;
  for (const auto& token : tokens) {
    if (!token.is_number_unsigned() || token.get<uint64_t>() >= static_cast<uint64_t>(tokenizer.vocab_size())) {
      return InvalidArgument("tokens has ", JsonText(token), ", expected integers from 0 to ",
                             tokenizer.vocab_size() - 1);
    }
    ids.push_back(token.get<int32_t>());
  }
  return OrderedJson{{"text", tokenizer.Decode(ids, /*skip_special=*/false)}};
}

Answer Run(TextJob job, const Tokenizer* tokenizer, std::string_view line) {
  HEARTH_CHECK(tokenizer || !NeedsTokenizer(job), "a job without its tokenizer");
  const Answer input = ParseJsonKeepingNumbers(line);
  if (!input.ok()) return input;
  switch (job) {
    case TextJob::kRender:
      return Render(*input);
    case TextJob::kParse:
      return Parse(*input);
    case TextJob::kTokenize:
      return Tokenize(*tokenizer, *input);
    case TextJob::kDetokenize:
      return Detokenize(*tokenizer, *input);
  }
  return Internal("unknown job");
}

}  // namespace

std::optional<TextJob> TextJobNamed(std::string_view name) {
  if (name == "render") return TextJob::kRender;
  if (name == "parse") return TextJob::kParse;
  if (name == "tokenize") return TextJob::kTokenize;
  if (name == "detokenize") return TextJob::kDetokenize;
  return std::nullopt;
}

bool NeedsTokenizer(TextJob job) { return job == TextJob::kTokenize || job == TextJob::kDetokenize; }

std::string AnswerLine(TextJob job, const Tokenizer* tokenizer, std::string_view line) {
  const Answer answer = Run(job, tokenizer, line);
  return JsonText(answer.ok() ? *answer : OrderedJson{{"error", answer.status().message()}});
}

}  // namespace hearth::text
