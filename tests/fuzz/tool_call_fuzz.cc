// Model output with thinking and calls. Bytes from 0x80 to 0x9F stand for the tags, so that the fuzzer need not spell
// them; the first byte is the way of reading, the second where the text is cut.
#include "gateway/text/output_parser.h"

#include "gateway/text/json_text.h"
#include "gateway/text/utf8.h"
#include "tests/fuzz/fuzz.h"

namespace hearth::text {
namespace {

constexpr std::string_view kTags[] = {"<think>",   "</think>",   "<tool_call>", "</tool_call>",
                                      "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
                                      "get",       "city",       "n",           "{\"name\":\"get\",\"arguments\":{"};

std::string Spelled(std::string_view input) {
  std::string text;
  for (const char c : input) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0x80 + std::size(kTags)) {
      text += kTags[byte - 0x80];
    } else {
      text += c;
    }
  }
  return text;
}

std::string Shown(const ParsedOutput& output) {
  std::string text = output.reasoning + "\x01" + output.content;
  for (const auto& call : output.calls) text += "\x02" + call.name + "\x03" + call.arguments;
  return text;
}

struct Way {
  OutputParser::Start start;
  bool active, cut, text_or_calls;
};

ParsedOutput Parse(const Way& way, std::string_view text, size_t piece) {
  static const OrderedJson tools = *ParseJsonKeepingNumbers(R"([{"name": "get", "parameters": {"properties": {
      "city": {"type": "string"}, "n": {"type": "integer"}, "x": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}}}}])");
  OutputParser parser(way.start, tools, way.active, way.text_or_calls);
  std::string reasoning, content;
  const auto add = [&](const std::vector<Delta>& deltas) {
    for (const Delta& delta : deltas) {
      FUZZ_CHECK(!delta.text.empty() && ValidUtf8Bytes(delta.text) == delta.text.size());
      if (delta.kind == Delta::Kind::kReasoning) reasoning += delta.text;
      if (delta.kind == Delta::Kind::kContent) content += delta.text;
    }
  };
  for (size_t at = 0; at < text.size(); at += piece) add(parser.Push(text.substr(at, piece)));
  add(parser.Finish(way.cut));
  FUZZ_CHECK(reasoning == parser.result().reasoning && content == parser.result().content);
  return parser.result();
}

void Check(std::string_view input) {
  const unsigned bits = fuzz::TakeChoice(input, 16);
  const size_t piece = 1 + fuzz::TakeChoice(input, 9);
  const Way way{bits & 1 ? OutputParser::Start::kContent : OutputParser::Start::kReasoning, (bits & 2) == 0,
                (bits & 4) != 0, (bits & 8) != 0};
  const std::string text = Spelled(input);
  const ParsedOutput whole = Parse(way, text, text.size() + 1);
  FUZZ_CHECK(Shown(Parse(way, text, piece)) == Shown(whole));
  FUZZ_CHECK(way.active || whole.calls.empty());
  for (const auto& call : whole.calls) {
    FUZZ_CHECK(!call.name.empty());
    // Only the last call may be unfinished, and only when a limit ended the output.
    const bool may_be_open = way.cut && &call == &whole.calls.back();
    FUZZ_CHECK(may_be_open || ParseJsonKeepingNumbers(call.arguments).ok());
  }
}

}  // namespace
}  // namespace hearth::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hearth::text::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
