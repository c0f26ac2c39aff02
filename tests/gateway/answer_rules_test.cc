#include "common/automaton/automaton.h"
#include "tests/gateway/running_gateway.h"
#include "tests/support/accepts.h"

namespace hearth::test {
namespace {

// What the worker is asked to enforce.
class AnswerRules : public RunningGateway {
 protected:
  engine::GenerateSpec Sent(const char* path, const Json& request) {
    if (!gateway_) Start();
    const HttpReply reply = Post(path, request);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return worker_->seen().back();
  }
  static int32_t Tag(const char* text) { return *TinyTokenizer().TokenId(text); }
};

TEST_F(AnswerRules, FormatsBeginAfterThinking) {
  Json request = Chat("Hi");
  request["response_format"] = {{"type", "json_object"}};
  engine::GenerateSpec spec = Sent("/v1/chat/completions", request);
  ASSERT_TRUE(spec.constraint);
  EXPECT_EQ(spec.constraint->start_after, Tag("</think>"));
  EXPECT_TRUE(spec.constraint->must_begin);
  EXPECT_TRUE(Language(Result<std::string>(*spec.constraint->automaton)).Accepts("{\"a\": 1}"));
  request["enable_thinking"] = false;
  spec = Sent("/v1/chat/completions", request);
  ASSERT_TRUE(spec.constraint);
  EXPECT_FALSE(spec.constraint->start_after);
  EXPECT_FALSE(spec.constraint->must_begin);
  spec = Sent("/v1/completions", {{"prompt", "x"}, {"guided_choice", {"a", "b"}}});
  ASSERT_TRUE(spec.constraint);
  EXPECT_FALSE(spec.constraint->start_after);
  EXPECT_FALSE(Sent("/v1/chat/completions", Chat("Hi")).constraint);
}

TEST_F(AnswerRules, BudgetForcesTheEndOfThinking) {
  Json request = Chat("Hi");
  request["max_thinking_tokens"] = 7;
  const engine::GenerateSpec spec = Sent("/v1/chat/completions", request);
  ASSERT_TRUE(spec.forced_after);
  EXPECT_EQ(spec.forced_after->n_tokens, 7u);
  EXPECT_EQ(spec.forced_after->ids, std::vector<int32_t>{Tag("</think>")});
  EXPECT_EQ(spec.forced_after->unless_seen, Tag("</think>"));
  EXPECT_FALSE(spec.constraint);
}

TEST_F(AnswerRules, CallsAreAGrammarFromTheFirstToken) {
  Json request = Chat("Hi");
  request["tools"] = Json::array({{{"type", "function"}, {"function", {{"name", "ping"}}}}});
  EXPECT_FALSE(Sent("/v1/chat/completions", request).constraint) << "free by default";
  request["tool_choice"] = "required";
  const engine::GenerateSpec spec = Sent("/v1/chat/completions", request);
  ASSERT_TRUE(spec.constraint);
  EXPECT_FALSE(spec.constraint->start_after);
  const Language language(Result<std::string>(*spec.constraint->automaton));
  EXPECT_TRUE(language.Accepts(
      Mixed{std::string("why"), Tag("</think>"), Tag("<tool_call>"), std::string("ping"), Tag("</tool_call>")}));
  EXPECT_FALSE(language.Accepts(Mixed{std::string("why"), Tag("</think>"), std::string("no")}));
}

TEST_F(AnswerRules, AFormatBesideToolsIsCallsOrTheForm) {
  director_ = [](const engine::GenerateSpec&) { return Saying("why</think>{\"a\": \"<tool_call>ping</tool_call>\"}"); };
  Json request = Chat("Hi");
  request["tools"] = Json::array({{{"type", "function"}, {"function", {{"name", "ping"}}}}});
  request["response_format"] = {{"type", "json_object"}};
  const engine::GenerateSpec spec = Sent("/v1/chat/completions", request);
  ASSERT_TRUE(spec.constraint);
  EXPECT_FALSE(spec.constraint->start_after);
  const Language language(Result<std::string>(*spec.constraint->automaton));
  EXPECT_TRUE(language.Accepts(Mixed{std::string("why"), Tag("</think>"), std::string("{}")}));
  EXPECT_TRUE(language.Accepts(Mixed{Tag("</think>"), Tag("<tool_call>"), std::string("ping"), Tag("</tool_call>")}));
  EXPECT_FALSE(language.Accepts(Mixed{std::string("why"), Tag("</think>"), std::string("no")}));
  // A tag that the JSON spells out is no call.
  const Json choice = Json::parse(Post("/v1/chat/completions", request).body)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["message"]["content"], "{\"a\": \"<tool_call>ping</tool_call>\"}");
}

TEST_F(AnswerRules, AfterAStopStringTheGatewayMeasures) {
  director_ = [](const engine::GenerateSpec&) { return Saying("thought</think>Hello STOP there"); };
  Json request = Chat("Hi");
  request["stop"] = "STOP";
  request["temperature"] = 0.5;
  Start();
  const Json usage = Json::parse(Post("/v1/chat/completions", request).body)["usage"]["hearth"];
  EXPECT_EQ(usage["measured_by"], "gateway");
  EXPECT_EQ(usage["sampling"]["temperature"], 0.5);
  EXPECT_EQ(usage["sampling"]["seed"], 7);
  EXPECT_GE(usage["decode_seconds"].get<double>(), 0);
  EXPECT_FALSE(usage.contains("picks"));
  request.erase("stop");
  EXPECT_EQ(Json::parse(Post("/v1/chat/completions", request).body)["usage"]["hearth"]["measured_by"], "worker");
}

}  // namespace
}  // namespace hearth::test
