#include "gateway/text/output_parser.h"

#include <gtest/gtest.h>

#include "gateway/text/hearth_text.h"
#include "tests/gateway/text/parse_case.h"
#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

using Start = OutputParser::Start;

const OrderedJson& Tools() {
  static const OrderedJson tools = *ParseJsonKeepingNumbers(R"([
    {"type": "function", "function": {"name": "get", "parameters": {"properties": {
       "city": {"type": "string"}, "n": {"type": "integer"}}}}},
    {"name": "get_more", "parameters": {"properties": {"city": {"type": "string"}}}}])");
  return tools;
}

// What a text gives, the same whole and byte by byte.
std::string Parse(const std::string& text, bool cut = false, Start start = Start::kReasoning, bool active = true) {
  const std::string whole = Shown(ParsePieces(start, Tools(), active, cut, {text}));
  EXPECT_EQ(Shown(ParsePieces(start, Tools(), active, cut, Bytes(text))), whole);
  return whole;
}

std::string ParseContent(const std::string& text, bool cut = false) { return Parse(text, cut, Start::kContent); }

std::string Expected(const OrderedJson& expected) {
  ParsedOutput output;
  const auto text_or_empty = [](const OrderedJson& value) { return value.is_null() ? "" : value.get<std::string>(); };
  output.reasoning = text_or_empty(expected["reasoning_content"]);
  output.content = text_or_empty(expected["content"]);
  for (size_t i = 0; i < expected["tool_calls"].size(); ++i) {
    output.calls.push_back({expected["tool_calls"][i]["name"], expected["arguments_text"][i]});
  }
  return Shown(output);
}

TEST(OutputParserGolden, EveryCutGivesTheExpectedResult) {
  const OrderedJson cases = ReadJson("tests/golden/tool_parse.json");
  ASSERT_EQ(cases.size(), 55u);
  std::mt19937 random(11);
  for (const auto& item : cases) {
    const auto text = item["text"].get<std::string>();
    const auto start = item["starts_in"] == "content" ? Start::kContent : Start::kReasoning;
    const bool active = !item["tools"].empty() && item["tool_choice"] != "none";
    const bool cut = item["stop"] == "length";
    const auto parse = [&](const std::vector<std::string>& pieces) {
      return Shown(ParsePieces(start, item["tools"], active, cut, pieces));
    };
    const std::string expected = Expected(item["expected"]);
    EXPECT_EQ(parse({text}), expected) << item["name"];
    EXPECT_EQ(parse(item["chunks"].get<std::vector<std::string>>()), expected) << item["name"];
    EXPECT_EQ(parse(Bytes(text)), expected) << item["name"];
    for (int i = 0; i < 60; ++i) EXPECT_EQ(parse(RandomCuts(text, random, 1 + i % 20)), expected) << item["name"];
  }
}

TEST(OutputParserGolden, CommandLineGivesAllFields) {
  for (const auto& item : ReadJson("tests/golden/tool_parse.json")) {
    for (const char* form : {"text", "chunks"}) {
      OrderedJson input = {{form, item[form]}};
      for (const char* key : {"starts_in", "tools", "tool_choice", "stop"}) input[key] = item[key];
      const OrderedJson answer = *ParseJsonKeepingNumbers(AnswerLine(TextJob::kParse, nullptr, JsonText(input)));
      const OrderedJson& expected = item["expected"];
      ASSERT_FALSE(answer.contains("error")) << answer.dump();
      EXPECT_EQ(answer["reasoning_content"], expected["reasoning_content"]) << item["name"];
      EXPECT_EQ(answer["content"], expected["content"]) << item["name"];
      EXPECT_EQ(answer["finish_reason"], expected["finish_reason"]) << item["name"];
      ASSERT_EQ(answer["tool_calls"].size(), expected["tool_calls"].size()) << item["name"];
      for (size_t i = 0; i < answer["tool_calls"].size(); ++i) {
        EXPECT_EQ(answer["tool_calls"][i]["name"], expected["tool_calls"][i]["name"]);
        EXPECT_EQ(answer["tool_calls"][i]["arguments_text"], expected["arguments_text"][i]);
      }
    }
  }
}

TEST(OutputParser, ReasoningAndContent) {
  EXPECT_EQ(Parse(" r \n</think>\n c \n"), " r \n|c|");
  EXPECT_EQ(Parse("never closed"), "never closed||");
  EXPECT_EQ(Parse(" <think>r<think></think>c"), " r<think>|c|");
  EXPECT_EQ(ParseContent("</think>\n<think>r</think>c</think><think>d"), "r|c</think><think>d|");
  EXPECT_EQ(ParseContent("\u3000a\u00a0\u3000b\u2003"), "|a\u00a0\u3000b|");
  EXPECT_EQ(ParseContent("a </tool_call> </arg_key>"), "|a </tool_call> </arg_key>|");
}

TEST(OutputParser, CallsAndTextAround) {
  EXPECT_EQ(ParseContent("a \n<tool_call>get<arg_key>city</arg_key><arg_value> P\"\n</arg_value></tool_call>\n b "),
            "|a \n\n b|get({\"city\": \" P\\\"\\n\"})");
  EXPECT_EQ(ParseContent("<tool_call> get </tool_call><tool_call>get_more</tool_call>"), "||get({})get_more({})");
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key> n </arg_key>x<arg_value> 5 </arg_value>y"
                         "<arg_key>n</arg_key><arg_value>6</arg_value></tool_call>"),
            "||get({\"n\": 5, \"n\": 6})");
  EXPECT_EQ(ParseContent("<tool_call>other<arg_key>k</arg_key><arg_value>[1,2]</arg_value></tool_call>"),
            "||other({\"k\": [1, 2]})");
}

TEST(OutputParser, StringArgumentsStreamWhileTheyCome) {
  OutputParser parser(Start::kContent, Tools(), true);
  const auto push = [&](std::string_view text) {
    std::string out;
    for (const Delta& delta : parser.Push(text)) out += delta.text;
    return out;
  };
  EXPECT_EQ(push("<tool_call>ge"), "");
  EXPECT_EQ(push("t<arg_key>"), "get{");
  EXPECT_EQ(push("city</arg_key><arg_value>"), "\"city\": \"");
  EXPECT_EQ(push("Par\n"), "Par\\n");
  EXPECT_EQ(push("is</arg_"), "is");
  EXPECT_EQ(push("value>"), "\"");
  EXPECT_EQ(push("<arg_key>n</arg_key><arg_value>4"), "");
  EXPECT_EQ(push("2</arg_value>"), ", \"n\": 42");
  EXPECT_EQ(push("</tool_call>"), "}");
}

TEST(OutputParser, RepairsDamage) {
  // `<tool_call>` inside unclosed reasoning
  EXPECT_EQ(Parse("r<tool_call>get</tool_call>c"), "r|c|get({})");
  // not closed at the end
  EXPECT_EQ(ParseContent("<tool_call>get"), "||get({})");
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>ci"), "||get({})");
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>city</arg_key>"), "||get({})");
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>city</arg_key><arg_value>P"), "||get({\"city\": \"P\"})");
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>n</arg_key><arg_value>5"), "||get({\"n\": 5})");
  // cut off by the limit
  EXPECT_EQ(ParseContent("x<tool_call>ge", true), "|x|");
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>city</arg_key><arg_value>P</arg_", true),
            "||get({\"city\": \"P</arg_)");
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>n</arg_key><arg_value>5", true), "||get({)");
  // names that are none
  EXPECT_EQ(ParseContent("a<tool_call></tool_call>b"), "|a<tool_call></tool_call>b|");
  EXPECT_EQ(ParseContent("<tool_call>a b<arg_key>x</tool_call>"), "|<tool_call>a b<arg_key>x</tool_call>|");
  EXPECT_EQ(Parse("r<tool_call>a b</tool_call>s"), "r<tool_call>a b</tool_call>s||");
  EXPECT_EQ(ParseContent("<tool_call>a\u0085b</tool_call>"), "|<tool_call>a\u0085b</tool_call>|");
  // missing opening tag of the key: the longest tool name wins
  EXPECT_EQ(ParseContent("<tool_call>get_morecity</arg_key><arg_value>P</arg_value></tool_call>"),
            "||get_more({\"city\": \"P\"})");
  EXPECT_EQ(ParseContent("<tool_call>putcity</arg_key></tool_call>"), "|<tool_call>putcity</arg_key></tool_call>|");
  // missing closing tag of the key, key without value, value without key
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>city<arg_value>P</arg_value></tool_call>"),
            "||get({\"city\": \"P\"})");
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>city</arg_key><arg_key>n</arg_key><arg_value>1</arg_value>"
                         "<arg_value>2</arg_value></tool_call>"),
            "||get({\"n\": 1})");
  // the next call begins before the last is closed
  EXPECT_EQ(ParseContent("<tool_call>get<arg_key>n</arg_key><arg_value>1</arg_value><tool_call>get_more</tool_call>"),
            "||get({\"n\": 1})get_more({})");
  EXPECT_EQ(ParseContent("<tool_call>get<tool_call>get_more</tool_call>"), "|<tool_call>get|get_more({})");
  // a tag that the reasoning only talks about
  EXPECT_EQ(Parse("I use <tool_call> here</think>c"), "I use <tool_call> here|c|");
  // other tags inside of a value are its text
  EXPECT_EQ(ParseContent(
                "<tool_call>get<arg_key>city</arg_key><arg_value><think><tool_call><arg_key></arg_value></tool_call>"),
            "||get({\"city\": \"<think><tool_call><arg_key>\"})");
}

TEST(OutputParser, JsonBodies) {
  EXPECT_EQ(
      ParseContent("<tool_call>{\"name\":\"get\",\"arguments\":{\"n\":1,\"x\":12345678901234567890123}}</tool_call>"),
      "||get({\"n\": 1, \"x\": 12345678901234567890123})");
  EXPECT_EQ(ParseContent("<tool_call>\n{\"name\":\"get\",\"parameters\":\"{\\\"n\\\":1}\"}\n</tool_call>"),
            "||get({\"n\": 1})");
  for (const std::string body :
       {"{\"name\":\"get\"}", "{\"name\":5,\"arguments\":{}}", "{\"name\":\"\",\"arguments\":{}}",
        "{\"name\":\"get\",\"arguments\":[1]}", "{\"name\":\"get\",\"arguments\":\"x\"}", "{oops}"}) {
    EXPECT_EQ(ParseContent("<tool_call>" + body + "</tool_call>"), "|<tool_call>" + body + "</tool_call>|");
  }
}

TEST(OutputParser, TagsAreTextWithoutTools) {
  const std::string call = "<tool_call>get</tool_call>";
  EXPECT_EQ(Parse(call + "</think>" + call, false, Start::kReasoning, /*active=*/false), call + "|" + call + "|");
}

TEST(OutputParser, NothingThatCouldBeATagLeaks) {
  OutputParser parser(Start::kReasoning, Tools(), true);
  EXPECT_EQ(parser.Push("a</thin").size(), 1u);
  EXPECT_EQ(parser.result().reasoning, "a");
  parser.Push("k>b <tool");
  EXPECT_EQ(parser.result().content, "b");
  parser.Finish(false);
  EXPECT_EQ(parser.result().content, "b <tool");
}

}  // namespace
}  // namespace hearth::text
