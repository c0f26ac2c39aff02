#include "gateway/text/hearth_text.h"

#include <gtest/gtest.h>

#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

TEST(HearthText, TokenizesAndBack) {
  const std::string tokens = AnswerLine(TextJob::kTokenize, &TinyTokenizer(), R"({"text": "<|user|>東京\n"})");
  EXPECT_TRUE(tokens.starts_with(R"({"tokens": [4067, )")) << tokens;
  EXPECT_EQ(AnswerLine(TextJob::kDetokenize, &TinyTokenizer(), tokens), R"({"text": "<|user|>東京\n"})");
  EXPECT_EQ(AnswerLine(TextJob::kDetokenize, &TinyTokenizer(), R"({"tokens": []})"), R"({"text": ""})");
}

TEST(HearthText, RefusedInputsGiveAnError) {
  const std::pair<TextJob, const char*> cases[] = {
      {TextJob::kTokenize, ""},
      {TextJob::kTokenize, "[]"},
      {TextJob::kTokenize, R"({"text": 5})"},
      {TextJob::kTokenize, R"({"text": "a", "more": 1})"},
      {TextJob::kTokenize, "{\"text\": \"\xFF\"}"},
      {TextJob::kDetokenize, R"({"tokens": [4096]})"},
      {TextJob::kDetokenize, R"({"tokens": [-1]})"},
      {TextJob::kDetokenize, R"({"tokens": [1.0]})"},
      {TextJob::kDetokenize, R"({"tokens": [99999999999999999999]})"},
      {TextJob::kDetokenize, R"({"tokens": "1"})"},
      {TextJob::kRender, R"({})"},
      {TextJob::kRender, R"({"messages": [], "add_generation_prompt": 1})"},
      {TextJob::kRender, R"({"messages": [], "kwargs": []})"},
      {TextJob::kParse, R"({})"},
      {TextJob::kParse, R"({"text": "a", "starts_in": "middle"})"},
      {TextJob::kParse, R"({"text": "a", "stop": "maybe"})"},
      {TextJob::kParse, R"({"text": "a", "tools": {}})"},
      {TextJob::kParse, R"({"chunks": ["a", 5]})"},
      {TextJob::kParse, R"({"chunks": "a"})"},
  };
  for (const auto& [job, line] : cases) {
    const auto answer = ParseJsonKeepingNumbers(AnswerLine(job, &TinyTokenizer(), line));
    ASSERT_TRUE(answer.ok()) << line;
    EXPECT_EQ(answer->size(), 1u);
    EXPECT_TRUE(answer->contains("error")) << line;
  }
}

TEST(HearthText, ParseHasDefaults) {
  EXPECT_EQ(AnswerLine(TextJob::kParse, nullptr, R"({"text": "r</think>c"})"),
            R"({"reasoning_content": "r", "content": "c", "tool_calls": [], "finish_reason": "stop"})");
}

TEST(HearthText, KnowsItsJobs) {
  EXPECT_EQ(TextJobNamed("render"), TextJob::kRender);
  EXPECT_FALSE(TextJobNamed("run").has_value());
  EXPECT_FALSE(NeedsTokenizer(TextJob::kRender));
  EXPECT_FALSE(NeedsTokenizer(TextJob::kParse));
  EXPECT_TRUE(NeedsTokenizer(TextJob::kTokenize));
}

}  // namespace
}  // namespace hearth::text
