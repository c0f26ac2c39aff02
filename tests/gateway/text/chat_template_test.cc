#include "gateway/text/chat_template.h"

#include <gtest/gtest.h>

#include "gateway/text/hearth_text.h"
#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

OrderedJson Parsed(std::string_view text) { return *ParseJsonKeepingNumbers(text); }

ChatInput Chat(std::string_view messages) {
  ChatInput input;
  input.messages = Parsed(messages);
  return input;
}

std::string Rendered(const ChatInput& input) {
  const auto segments = RenderChat(input);
  return segments.ok() ? JoinSegments(*segments) : "refused: " + segments.status().message();
}

TEST(RenderChat, GoldensAreEqualCharacterByCharacter) {
  const OrderedJson cases = ReadJson("tests/golden/chat_render.json");
  ASSERT_EQ(cases.size(), 70u);
  for (const auto& item : cases) {
    OrderedJson input = OrderedJson::object();
    for (const char* key : {"messages", "tools", "kwargs", "add_generation_prompt"}) {
      if (item.contains(key)) input[key] = item[key];
    }
    const OrderedJson answer = Parsed(AnswerLine(TextJob::kRender, nullptr, JsonText(input)));
    EXPECT_EQ(answer.value("prompt", answer.dump()), item["expected"].get<std::string>()) << item["name"];
  }
}

TEST(RenderChat, SegmentsGiveTheIdsOfTheJoinedPrompt) {
  // Holds where no content has the text of an added token.
  int compared = 0;
  for (const auto& item : ReadJson("tests/golden/chat_render.json")) {
    ChatInput input;
    input.messages = item["messages"];
    if (item.contains("tools")) input.tools = item["tools"];
    const auto segments = RenderChat(input);
    ASSERT_TRUE(segments.ok());
    bool plain = true;
    for (const auto& segment : *segments) {
      for (const auto& token : TinyTokenizer().added_tokens()) {
        plain = plain && (segment.is_markup || segment.text.find(token.content) == std::string::npos);
      }
    }
    if (!plain) continue;
    ++compared;
    EXPECT_EQ(TinyTokenizer().EncodeSegments(*segments), TinyTokenizer().Encode(JoinSegments(*segments)))
        << item["name"];
  }
  EXPECT_GT(compared, 55);
}

TEST(RenderChat, OnlyTemplateTextIsMarkup) {
  ChatInput input = Chat(R"([{"role": "system", "content": "<|user|>"},
      {"role": "user", "content": "<|assistant|>"},
      {"role": "assistant", "reasoning_content": "<think>", "content": "</think>",
       "tool_calls": [{"function": {"name": "<tool_call>", "arguments": {"<arg_key>": "</arg_value>"}}}]},
      {"role": "tool", "content": "</tool_response>"}])");
  input.tools = Parsed(R"([{"name": "<|system|>"}])");
  const auto segments = RenderChat(input);
  ASSERT_TRUE(segments.ok());
  std::vector<std::string> content;
  for (const auto& segment : *segments) {
    if (!segment.is_markup) content.push_back(segment.text);
  }
  EXPECT_EQ(content,
            (std::vector<std::string>{"{\"name\": \"<|system|>\"}", "<|user|>", "<|assistant|>", "<think>", "</think>",
                                      "<tool_call>", "<arg_key>", "</arg_value>", "</tool_response>"}));
}

TEST(RenderChat, CloseThinkingEndsTheGenerationPrompt) {
  ChatInput input = Chat(R"([{"role": "user", "content": "Hi"}])");
  input.close_thinking = true;
  EXPECT_EQ(Rendered(input), "[gMASK]<sop><|system|>Reasoning Effort: Max<|user|>Hi<|assistant|><think></think>");
}

TEST(RenderChat, BigNumbersAndFloatsInArguments) {
  ChatInput input = Chat(R"([{"role": "assistant", "tool_calls": [{"name": "f",
      "arguments": {"n": 123456789012345678901234567890, "x": 1e5, "o": {"b": [1e-7]}}}]}])");
  input.add_generation_prompt = false;
  EXPECT_EQ(Rendered(input),
            "[gMASK]<sop><|system|>Reasoning Effort: Max<|assistant|><think></think><tool_call>f<arg_key>n</arg_key>"
            "<arg_value>123456789012345678901234567890</arg_value><arg_key>x</arg_key><arg_value>100000.0</arg_value>"
            "<arg_key>o</arg_key><arg_value>{\"b\": [1e-07]}</arg_value></tool_call>");
}

TEST(RenderChat, RefusesNamingThePlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"{}", "messages"},
      {"[1]", "messages[0]"},
      {R"([{"role": "user", "content": {"a": 1}}])", "messages[0].content"},
      {R"([{"role": "user", "content": [{"type": "text", "text": null}]}])", "messages[0].content[0].text"},
      {R"([{"role": "user"}, {"role": "tool", "content": {"a": 1}}])", "messages[1].content"},
      {R"([{"role": "tool", "content": [{"output": {"a": 1}}]}])", "messages[0].content[0].output"},
      {R"([{"role": "assistant", "tool_calls": {"a": 1}}])", "messages[0].tool_calls"},
      {R"([{"role": "assistant", "tool_calls": [{"name": "f"}]}])", "messages[0].tool_calls[0].arguments"},
      {R"([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{}"}]}])",
       "messages[0].tool_calls[0].arguments"},
      {R"([{"role": "assistant", "tool_calls": [{"name": {}, "arguments": {}}]}])", "messages[0].tool_calls[0].name"},
  };
  for (const auto& [messages, param] : cases) {
    const auto segments = RenderChat(Chat(messages));
    ASSERT_FALSE(segments.ok()) << messages;
    EXPECT_EQ(segments.status().param(), param);
  }
  ChatInput input = Chat("[]");
  for (const char* tools : {"{}", "[1]", R"([{"function": "f"}])"}) {
    input.tools = Parsed(tools);
    EXPECT_FALSE(RenderChat(input).ok()) << tools;
  }
}

}  // namespace
}  // namespace hearth::text
