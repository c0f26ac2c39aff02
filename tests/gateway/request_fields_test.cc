#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <map>
#include <sstream>

#include "gateway/openai/chat_messages.h"
#include "gateway/openai/chat_request.h"
#include "gateway/openai/completion_request.h"
#include "gateway/openai/field_table.h"
#include "gateway/openai/request_body.h"
#include "gateway/sglang/generate_request.h"

namespace hearth::openai {
namespace {

constexpr char kChatBase[] = R"("messages":[{"role":"user","content":"x"}])";
constexpr char kCompletionBase[] = R"("prompt":"x")";

Result<ChatRequest> Chat(const std::string& members, bool base = true, bool strict = false) {
  const std::string joined = base ? (members.empty() ? kChatBase : kChatBase + std::string(",") + members) : members;
  Result<OrderedJson> body = ParseBody("{" + joined + "}");
  if (!body.ok()) return body.status();
  return ParseChatRequest(*body, strict);
}

Result<CompletionRequest> Completion(const std::string& members, bool base = true) {
  const std::string joined =
      base ? (members.empty() ? kCompletionBase : kCompletionBase + std::string(",") + members) : members;
  Result<OrderedJson> body = ParseBody("{" + joined + "}");
  if (!body.ok()) return body.status();
  return ParseCompletionRequest(*body, false);
}

// Values that no field of this name takes.
const std::map<std::string, std::vector<std::string>>& WrongValues() {
  static const std::map<std::string, std::vector<std::string>> values = {
      {"messages", {"1", "\"x\"", "{}", "[]", "[1]"}},
      {"prompt",
       {"1", "{}", "[]", "[[]]", "[\"a\",1]", "[\"a\",[1]]", "[[1],\"a\"]", "[[1],1]", "[-1]", "[1.5]", "[true]"}},
      {"model", {"1", "[]", "\"\""}},
      {"stream", {"1", "\"yes\""}},
      {"stream_options", {"1", "{\"include_usage\":true}"}},
      {"max_tokens", {"0", "-1", "1.5", "1e18", "\"5\"", "true", "99999999999999999999999"}},
      {"max_completion_tokens", {"0", "-1", "1.5", "1e18", "\"5\""}},
      {"temperature", {"-0.1", "2.1", "1e18", "\"1\"", "true", "[]"}},
      {"top_p", {"0", "-1", "1.01", "\"1\""}},
      {"top_k", {"-2", "1.5", "1e18", "\"1\""}},
      {"min_p", {"-0.1", "1.1", "\"0\""}},
      {"seed", {"1.5", "\"1\"", "1e30", "[]"}},
      {"stop", {"1", "\"\"", "[\"\"]", "[1]", "{}", "[\"a\",\"b\",\"c\",\"d\",\"e\"]"}},
      {"logprobs", {"\"x\"", "[]"}},
      {"top_logprobs", {"-1", "21", "1.5", "5"}},
      {"n", {"0", "9", "-1", "1.5", "\"1\""}},
      {"presence_penalty", {"-2.1", "2.1", "\"0\""}},
      {"frequency_penalty", {"-2.1", "2.1", "\"0\""}},
      {"repetition_penalty", {"0", "1e-300", "0.009", "-1", "2.1", "\"1\""}},
      {"logit_bias", {"1", "[]", "{\"x\":1}", "{\"-1\":1}", "{\"1\":101}", "{\"1\":\"a\"}", "{\"01\":1}"}},
      {"tools",
       {"1", "{}", "[1]", "[{}]", "[{\"type\":\"function\"}]", "[{\"type\":\"x\",\"function\":{\"name\":\"f\"}}]",
        "[{\"type\":\"function\",\"function\":{\"name\":\"\"}}]",
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":1}}]",
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":1}}]",
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}},{\"type\":\"function\",\"function\":{\"name\":\"f\"}}"
        "]"}},
      {"tool_choice",
       {"1", "\"x\"", "\"required\"", "\"auto\"", "{}", "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}",
        "{\"type\":\"function\",\"name\":\"f\"}", "{\"type\":\"allowed_tools\"}"}},
      {"parallel_tool_calls", {"1", "\"no\""}},
      {"max_thinking_tokens", {"-1", "1.5", "\"5\"", "1e18"}},
      {"response_format",
       {"1", "\"json\"", "{}", "{\"type\":\"xml\"}", "{\"type\":\"text\",\"x\":1}", "{\"type\":\"json_schema\"}",
        "{\"type\":\"json_schema\",\"json_schema\":{\"schema\":{}}}",
        "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\"}}",
        "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\",\"schema\":{\"not\":{}}}}"}},
      {"guided_regex", {"1", "\"(\"", "\"(?=a)\"", "[]"}},
      {"guided_choice", {"1", "[]", "[1]", "[\"\"]", "{}"}},
      {"reasoning_effort", {"1", "\"huge\"", "\"High\""}},
      {"chat_template_kwargs", {"1", "{\"x\":1}", "{\"enable_thinking\":1}", "{\"reasoning_effort\":\"huge\"}"}},
      {"enable_thinking", {"1", "\"no\""}},
      {"thinking", {"1", "{}", "{\"type\":\"x\"}", "{\"type\":\"enabled\",\"budget_tokens\":5}"}},
      {"clear_thinking", {"1", "\"no\""}},
      {"ignore_eos", {"1", "\"no\""}},
      {"echo", {"1", "\"no\""}},
  };
  return values;
}

template <typename Parse>
void CheckTable(std::span<const Field> fields, Parse parse) {
  for (const Field& field : fields) {
    const std::string name = field.name;
    SCOPED_TRACE(name);
    const auto refused = [&](const std::string& value) {
      const auto result = parse("\"" + name + "\":" + value);
      ASSERT_FALSE(result.ok()) << value;
      EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument) << value;
      EXPECT_EQ(result.status().param().substr(0, name.size()), name) << value << ": " << result.status().message();
    };
    const bool in_base = name == "messages" || name == "prompt";
    if (!in_base) {
      EXPECT_TRUE(parse("\"" + name + "\":null").ok()) << "null counts as absent";
    }
    switch (field.treatment) {
      case Treatment::kHonoured: {
        ASSERT_EQ(WrongValues().count(name), 1u) << "give it wrong values";
        if (name == "logprobs" && fields.data() == CompletionFields().data()) {
          for (const char* value : {"true", "21", "-1", "\"x\""}) refused(value);
          break;
        }
        for (const std::string& value : WrongValues().at(name)) refused(value);
        break;
      }
      case Treatment::kRefused:
        for (const char* value : {"1", "\"x\"", "true", "{}", "[]"}) refused(value);
        break;
      case Treatment::kPassive:
        refused("1");
        EXPECT_TRUE(parse("\"" + name + "\":" + (std::string(field.only) == "string" ? "\"x\"" : "{}")).ok());
        break;
      case Treatment::kOnly:
        refused("\"something else\"");
        for (const OrderedJson& value : OrderedJson::parse(field.only)) {
          EXPECT_TRUE(parse("\"" + name + "\":" + value.dump()).ok()) << value;
        }
        break;
    }
  }
}

TEST(RequestFields, EveryChatFieldIsHonouredOrRefusedByName) {
  CheckTable(ChatFields(), [](const std::string& members) {
    return Chat(members, /*base=*/members.find("\"messages\"") == std::string::npos);
  });
}

TEST(RequestFields, EveryCompletionFieldIsHonouredOrRefusedByName) {
  CheckTable(CompletionFields(), [](const std::string& members) {
    return Completion(members, /*base=*/members.find("\"prompt\"") == std::string::npos);
  });
}

TEST(RequestFields, HonouredValuesReachTheRequest) {
  const auto request =
      Chat(R"("temperature":0.5,"top_p":0.25,"top_k":7,"min_p":0.125,"seed":-1,"stop":["a","b"],"logprobs":true,)"
           R"("top_logprobs":3,"n":2,"presence_penalty":1,"frequency_penalty":-1,"repetition_penalty":1.5,)"
           R"("logit_bias":{"5":-100},"max_completion_tokens":9,"stream":true,"stream_options":{"include_usage":true},)"
           R"("clear_thinking":true,"reasoning_effort":"minimal","ignore_eos":true,"model":"m")");
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->sampling.temperature, 0.5f);
  EXPECT_EQ(request->sampling.top_p, 0.25f);
  EXPECT_EQ(request->sampling.top_k, 7);
  EXPECT_EQ(request->sampling.min_p, 0.125f);
  EXPECT_EQ(request->sampling.seed, ~uint64_t{0});
  EXPECT_EQ(request->stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request->top_logprobs, 3);
  EXPECT_EQ(request->n, 2);
  EXPECT_EQ(request->sampling.presence_penalty, 1.f);
  EXPECT_EQ(request->sampling.frequency_penalty, -1.f);
  EXPECT_EQ(request->sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(request->sampling.logit_bias.at(5), -100.f);
  EXPECT_EQ(request->max_tokens, 9u);
  EXPECT_TRUE(request->stream.stream && request->stream.include_usage);
  EXPECT_TRUE(request->prompt.clear_thinking && request->ignore_eos);
  EXPECT_EQ(request->prompt.reasoning_effort, "low");
  EXPECT_EQ(request->model, "m");
}

TEST(RequestFields, RequestFieldsWinOverTemplateArguments) {
  const auto request =
      Chat(R"("reasoning_effort":"low","enable_thinking":true,)"
           R"("chat_template_kwargs":{"reasoning_effort":"high","enable_thinking":false,"clear_thinking":true})");
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->prompt.reasoning_effort, "low");
  EXPECT_FALSE(request->prompt.close_thinking);
  EXPECT_TRUE(request->prompt.clear_thinking);
}

TEST(RequestFields, NoEffortIsASwitchToo) {
  EXPECT_TRUE(Chat(R"("reasoning_effort":"none")")->prompt.close_thinking);
  EXPECT_TRUE(Chat(R"("reasoning_effort":"none","enable_thinking":false)")->prompt.close_thinking);
  EXPECT_TRUE(
      Chat(R"("reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true})")->prompt.close_thinking);
  EXPECT_FALSE(
      Chat(R"("enable_thinking":true,"chat_template_kwargs":{"reasoning_effort":"none"})")->prompt.close_thinking);
}

TEST(RequestFields, ContradictionsAreRefused) {
  EXPECT_EQ(Chat(R"("max_tokens":1,"max_completion_tokens":2)").status().param(), "max_tokens");
  EXPECT_EQ(Chat(R"("enable_thinking":true,"thinking":false)").status().param(), "thinking");
  EXPECT_EQ(Chat(R"("reasoning_effort":"none","enable_thinking":true)").status().param(), "reasoning_effort");
  EXPECT_EQ(Chat(R"("thinking":{"type":"enabled"},"reasoning_effort":"none")").status().param(), "reasoning_effort");
  EXPECT_EQ(Chat(R"("chat_template_kwargs":{"reasoning_effort":"none","thinking":true})").status().param(),
            "chat_template_kwargs.reasoning_effort");
  EXPECT_EQ(Chat(R"("logit_bias":{"-0":-100,"0":100})").status().param(), "logit_bias");
  EXPECT_EQ(Chat(R"("top_logprobs":3)").status().param(), "top_logprobs");
  EXPECT_EQ(Completion(R"("max_tokens":0)").status().param(), "max_tokens");
  const auto beside_tools = [](const std::string& members) {
    const auto request = Chat(R"("tools":[{"type":"function","function":{"name":"f"}}],)" + members);
    return request.ok() ? std::string("taken") : request.status().param();
  };
  EXPECT_EQ(beside_tools(R"("response_format":{"type":"json_object"})"), "taken");
  EXPECT_EQ(beside_tools(R"("response_format":{"type":"json_object"},"tool_choice":"none")"), "taken");
  EXPECT_EQ(beside_tools(R"("response_format":{"type":"json_object"},"tool_choice":"required")"), "response_format");
  EXPECT_EQ(beside_tools(R"("guided_regex":"a")"), "guided_regex");
  EXPECT_EQ(beside_tools(R"("guided_choice":["a"],"tool_choice":"none")"), "taken");
  EXPECT_TRUE(Completion(R"("max_tokens":0,"echo":true)").ok());
}

struct MessageCase {
  const char* messages;
  const char* param;  // "": accepted
};

class Messages : public ::testing::TestWithParam<MessageCase> {};

TEST_P(Messages, AreTakenOrRefusedByPlace) {
  const auto request = Chat(std::string("\"messages\":") + GetParam().messages, /*base=*/false);
  const std::string param = request.ok() ? "" : request.status().param();
  EXPECT_EQ(param, GetParam().param) << GetParam().messages << "\n" << request.status().message();
}

#define CALL(arguments)                                                                                                                           \
  R"([{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":)" arguments \
  R"(}}]},{"role":"tool","tool_call_id":"a","content":"y"}])"

INSTANTIATE_TEST_SUITE_P(
    Shapes, Messages,
    ::testing::Values(
        MessageCase{R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])", ""},
        MessageCase{R"([{"role":"developer","content":"x"},{"role":"user","content":"y"}])", ""},
        MessageCase{R"([{"role":"user","content":"x"},{"role":"system","content":"y"}])", ""},
        MessageCase{R"([{"role":"user","content":"x","name":"joe"}])", ""}, MessageCase{CALL(R"("{\"a\":1}")"), ""},
        MessageCase{CALL(R"("")"), ""}, MessageCase{CALL("{}"), ""}, MessageCase{CALL("null"), ""},
        MessageCase{CALL(R"("[1]")"), "messages[1].tool_calls[0].function.arguments"},
        MessageCase{CALL(R"("{bad")"), "messages[1].tool_calls[0].function.arguments"},
        MessageCase{CALL("5"), "messages[1].tool_calls[0].function.arguments"},
        MessageCase{R"([{"role":"user","content":"x"},{"role":"tool","content":[{"type":"text","text":"r"}]}])", ""},
        MessageCase{R"([{"role":"user","content":"x"},{"role":"function","name":"f","content":"r"}])", ""},
        MessageCase{R"([{"role":"user","content":"x"},{"role":"tool","content":[{"output":"r"},{"output":[]}]}])", ""},
        MessageCase{R"([{"role":"user","content":"x"},{"role":"tool","content":[{"output":[{"type":"image_url"}]}]}])",
                    "messages[1].content[0].output[0].type"},
        MessageCase{
            R"([{"role":"user","content":"x"},{"role":"tool","content":[{"output":"r"},{"type":"text","text":"s"}]}])",
            "messages[1].content[1].output"},
        MessageCase{
            R"([{"role":"user","content":"x"},{"role":"tool","content":[{"type":"text","text":"s"},{"output":"r"}]}])",
            "messages[1].content[1].type"},
        MessageCase{R"([{"role":"user","content":"x"},{"role":"tool"}])", "messages[1].content"},
        MessageCase{R"([{"role":"user"}])", "messages[0].content"},
        MessageCase{R"([{"role":"user","content":null}])", "messages[0].content"},
        MessageCase{R"([{"role":"user","content":5}])", "messages[0].content"},
        MessageCase{R"([{"role":"user","content":{"a":1}}])", "messages[0].content"},
        MessageCase{R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
                    "messages[0].content[0].type"},
        MessageCase{R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text"},
        MessageCase{R"([{"role":"user","content":[5]}])", "messages[0].content[0]"},
        MessageCase{R"([{"role":"robot","content":"x"}])", "messages[0].role"},
        MessageCase{R"([{"content":"x"}])", "messages[0].role"}, MessageCase{R"(["x"])", "messages[0]"},
        MessageCase{R"([{"role":"user","content":"x","tool_calls":[]}])", "messages[0].tool_calls"},
        MessageCase{R"([{"role":"user","content":"x"},{"role":"assistant","content":"y"}])", "messages[1]"},
        MessageCase{
            R"([{"role":"user","content":"x"},{"role":"assistant","content":"y","audio":{}},{"role":"user","content":"z"}])",
            "messages[1].audio"},
        MessageCase{R"([{"role":"assistant","content":null,"reasoning":"r"},{"role":"user","content":"z"}])", ""},
        MessageCase{R"([{"role":"assistant"},{"role":"user","content":"z"}])", "messages[0].content"}));

TEST(Messages, ReferencesToToolsStandAloneAndNameOneOfTheRequest) {
  const auto problem = [](const std::string& content) {
    const auto request = Chat(R"("messages":[{"role":"user","content":"x"},{"role":"tool","content":)" + content +
                                  R"(}],"tools":[{"type":"function","function":{"name":"f"}}])",
                              /*base=*/false);
    return request.ok() ? "" : request.status().param();
  };
  const std::string text = R"({"type":"text","text":"see"})", known = R"({"type":"tool_reference","name":"f"})",
                    unknown = R"({"type":"tool_reference","name":"g"})";
  EXPECT_EQ(problem("[" + known + "," + known + "]"), "");
  EXPECT_EQ(problem(R"([{"output":[)" + known + "]}]"), "");
  EXPECT_EQ(problem("[" + text + "," + known + "]"), "messages[1].content[1]");
  EXPECT_EQ(problem("[" + known + "," + text + "]"), "messages[1].content[1]");
  EXPECT_EQ(problem("[" + known + R"(,"words"])"), "messages[1].content[1]");
  EXPECT_EQ(problem(R"([{"output":[)" + text + "," + known + "]}]"), "messages[1].content[0].output[1]");
  EXPECT_EQ(problem("[" + unknown + "]"), "messages[1].content[0].name");
  EXPECT_EQ(problem(R"([{"type":"tool_reference"}])"), "messages[1].content[0].name");
  const auto of_user = Chat(R"("messages":[{"role":"user","content":[)" + known + "]}]", /*base=*/false);
  EXPECT_EQ(of_user.status().param(), "messages[0].content[0].type");
}

TEST(Messages, MembersThatNobodyReadsAreListedOrRefused) {
  const std::string members =
      R"("messages":[{"role":"user","name":"joe","content":[{"type":"text","text":"x","cache_control":{}}]},)"
      R"({"role":"user","name":"ann","content":"x","refusal":null},)"
      R"({"role":"assistant","content":null,"refusal":"no","audio":null,"tool_calls":[)"
      R"({"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}","more":1}}]},)"
      R"({"role":"tool","tool_call_id":"c","content":"r","is_error":true}],)"
      R"("tools":[{"type":"function","cached":1,"defer_loading":true,"function":{"name":"f","anything":"is in the prompt"}}])";
  const auto request = Chat(members, /*base=*/false);
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->unknown_fields,
            (std::vector<std::string>{"messages[].name", "messages[].content[].cache_control", "messages[].refusal",
                                      "messages[].tool_calls[].index", "messages[].tool_calls[].function.more",
                                      "messages[].is_error", "tools[].cached", "tools[].defer_loading"}));
  const auto strict = Chat(members, /*base=*/false, /*strict=*/true);
  EXPECT_EQ(strict.status().param(), "messages[0].name");
  const auto known = Chat(R"("messages":[{"role":"user","content":"x","name":null}])", /*base=*/false, /*strict=*/true);
  EXPECT_TRUE(known.ok()) << known.status().message();
}

TEST(Messages, TooManyAreRefusedBeforeTheRestIsRead) {
  std::string body = R"({"messages":[)";
  for (size_t i = 0; i < kMaxMessages; ++i) body += R"({"role":"user","content":"x"},)";
  EXPECT_TRUE(ParseBody(body.substr(0, body.size() - 1) + "]}").ok());
  const Result<OrderedJson> read = ParseBody(body + "{ and so on");
  EXPECT_EQ(read.status().param(), "messages");
  EXPECT_EQ(read.status().message(), "messages has more than 4096 entries");
}

TEST(Messages, TwoNamesOfTheReasoningMustAgree) {
  const auto chat = [](const std::string& names) {
    return Chat(R"("messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a",)" + names +
                    R"(},{"role":"user","content":"r"}])",
                /*base=*/false);
  };
  EXPECT_EQ(chat(R"("reasoning":"x","reasoning_content":"y")").status().param(), "messages[1].reasoning");
  for (const char* names : {R"("reasoning":"x","reasoning_content":"x")", R"("reasoning":"x","reasoning_content":"")",
                            R"("reasoning":"","reasoning_content":"x")", R"("reasoning":"x")"}) {
    const auto request = chat(names);
    ASSERT_TRUE(request.ok()) << names;
    EXPECT_EQ(request->prompt.messages[1]["reasoning_content"], "x") << names;
  }
}

TEST(Messages, AreNormalizedForTheTemplate) {
  const auto request = Chat(
      R"("messages":[{"role":"developer","content":"d"},{"role":"assistant","content":null,"reasoning":"why",)"
      R"("tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"big\":123456789012345678901234567890,\"x\":1.0}"}}]},)"
      R"({"role":"function","content":"r"}])",
      /*base=*/false);
  ASSERT_TRUE(request.ok()) << request.status().message();
  const OrderedJson& messages = request->prompt.messages;
  EXPECT_EQ(messages[0]["role"], "system");
  EXPECT_EQ(messages[1]["content"], "");
  EXPECT_EQ(messages[1]["reasoning_content"], "why");
  EXPECT_EQ(messages[2]["role"], "tool");
  const auto prompt = text::RenderChat(request->prompt);
  ASSERT_TRUE(prompt.ok());
  EXPECT_NE(text::JoinSegments(*prompt).find("<arg_value>123456789012345678901234567890</arg_value>"),
            std::string::npos);
}

TEST(GenerateFields, WrongOnesAreNamed) {
  const auto param = [](const std::string& text) {
    Result<OrderedJson> body = ParseBody(text);
    if (!body.ok()) return std::string("not JSON");
    const auto request = sglang::ParseGenerateRequest(*body, false);
    return request.ok() ? std::string() : request.status().param();
  };
  EXPECT_EQ(param(R"({"text":"a"})"), "");
  EXPECT_EQ(param(R"({})"), "text");
  EXPECT_EQ(param(R"({"text":"a","input_ids":[1]})"), "text");
  EXPECT_EQ(param(R"({"input_ids":[[1]]})"), "input_ids");
  EXPECT_EQ(param(R"({"text":["a"]})"), "text");
  EXPECT_EQ(param(R"({"text":"a","sampling_params":{"temperature":-1}})"), "sampling_params.temperature");
  EXPECT_EQ(param(R"({"text":"a","sampling_params":{"max_new_tokens":0}})"), "sampling_params.max_new_tokens");
  EXPECT_EQ(param(R"({"text":"a","sampling_params":{"max_new_tokens":0},"return_logprob":true})"), "");
  EXPECT_EQ(param(R"({"text":"a","top_logprobs_num":5})"), "top_logprobs_num");
  EXPECT_EQ(param(R"({"text":"a","path":"DECODE"})"), "path");
  EXPECT_EQ(param(R"({"text":"a","sampling_params":{"max_new_tokens":1},"logits_hash":true,"path":"X"})"), "path");
  EXPECT_EQ(param(R"({"text":"a","sampling_params":{"max_new_tokens":1},"logits_hash":true,"decode_from":3})"),
            "decode_from");
}

TEST(GenerateFields, WithoutALimitTheContextIsOneAndScoringWantsOneToken) {
  const auto read = [](const std::string& text) { return *sglang::ParseGenerateRequest(*ParseBody(text), false); };
  EXPECT_FALSE(read(R"({"text":"a"})").max_new_tokens.has_value());
  EXPECT_FALSE(read(R"({"text":"a"})").scores());
  EXPECT_EQ(read(R"({"text":"a","sampling_params":{"max_new_tokens":7}})").max_new_tokens, 7u);
  const auto scored = read(R"({"input_ids":[1],"return_logprob":true,"logprob_start_len":0,"top_logprobs_num":20})");
  EXPECT_TRUE(scored.scores());
  EXPECT_EQ(scored.max_new_tokens, 1u);
}

TEST(GenerateFields, WhatAsksForAnotherTokenThanTheMostLikelyIsNotScored) {
  const auto read = [](const std::string& params) {
    return sglang::ParseGenerateRequest(
        *ParseBody(R"({"text":"a","return_logprob":true,"sampling_params":)" + params + "}"), false);
  };
  for (const char* params : {R"({"temperature":0})", R"({"temperature":0,"top_p":0.5,"top_k":1,"min_p":0.1,"seed":3})",
                             R"({"repetition_penalty":1.0,"presence_penalty":0,"logit_bias":{},"stop":[]})",
                             R"({"max_new_tokens":1})", R"({"max_new_tokens":0,"temperature":1})"}) {
    EXPECT_TRUE(read(params)->scores()) << params;
  }
  for (const char* params : {R"({"temperature":1})", R"({"temperature":0,"stop":"b"})", R"({"logit_bias":{"5":-100}})",
                             R"({"repetition_penalty":1.1})", R"({"presence_penalty":0.5})",
                             R"({"max_new_tokens":1,"frequency_penalty":0.5})"}) {
    EXPECT_FALSE(read(params)->scores()) << params;
  }
  const auto refused = sglang::ParseGenerateRequest(
      *ParseBody(R"({"text":"a","return_logprob":true,"path":"DECODE","sampling_params":{"temperature":1}})"), false);
  EXPECT_EQ(refused.status().param(), "path");
}

// docs/api.md holds the tables of the code.
TEST(ApiDocument, HoldsTheFieldTables) {
  std::ifstream file(std::string(HEARTH_SOURCE_DIR) + "/docs/api.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const auto fields : {ChatFields(), CompletionFields()}) {
    const std::string table = FieldsMarkdown(fields);
    EXPECT_NE(text.str().find(table), std::string::npos) << "docs/api.md lacks this table:\n" << table;
  }
}

}  // namespace
}  // namespace hearth::openai
