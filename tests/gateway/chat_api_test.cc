#include <random>

#include "tests/gateway/running_gateway.h"

namespace hearth::test {
namespace {

class ChatApi : public RunningGateway {};

// What the deltas of a stream add up to.
struct Joined {
  std::string reasoning, content, finish;
  std::vector<std::pair<std::string, std::string>> calls;  // name, arguments
  Json usage;
  bool done = false;
};

Joined Join(const std::string& body) {
  Joined joined;
  for (const std::string& data : EventData(body)) {
    if (data == "[DONE]") {
      joined.done = true;
      continue;
    }
    const Json event = Json::parse(data);  // throws when a character was split
    if (event.contains("usage") && event["usage"].is_object()) joined.usage = event["usage"];
    for (const Json& choice : event.value("choices", Json::array())) {
      const Json& delta = choice["delta"];
      joined.reasoning += delta.value("reasoning_content", "");
      joined.content += delta.value("content", "");
      for (const Json& call : delta.value("tool_calls", Json::array())) {
        const size_t index = call["index"];
        if (index == joined.calls.size()) joined.calls.emplace_back(call["function"]["name"], "");
        joined.calls.at(index).second += call["function"].value("arguments", "");
      }
      if (choice["finish_reason"].is_string()) joined.finish = choice["finish_reason"];
    }
  }
  return joined;
}

std::string OrEmpty(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

const Json kTools = Json::parse(R"([{"type":"function","function":{"name":"get_weather","description":"Weather",
  "parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}}}])");

TEST_F(ChatApi, AnswersWithReasoningContentAndUsage) {
  Start();
  const HttpReply reply = Post("/v1/chat/completions", Chat("Hi"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json body = Json::parse(reply.body);
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["reasoning_content"], "thought");
  EXPECT_EQ(choice["message"]["content"], "Hello there!");
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["usage"]["prompt_tokens"], worker_->seen().at(0).prompt_ids.size());
  EXPECT_EQ(body["usage"]["completion_tokens"], TinyTokenizer().Encode("thought</think>Hello there!").size());
  EXPECT_EQ(body["usage"]["hearth"]["picks"]["vram"], 3);
  EXPECT_TRUE(body["usage"]["hearth"]["deterministic"]);
  EXPECT_FALSE(reply.headers.at("x-request-id").empty());
}

TEST_F(ChatApi, PromptIsTheTemplateWithSpecialTextKeptAsText) {
  Start();
  ASSERT_EQ(Post("/v1/chat/completions", Chat("say <|user|> now")).status, 200);
  const auto spec = worker_->seen().at(0);
  const auto& ids = spec.prompt_ids;
  EXPECT_EQ(TinyTokenizer().Decode(ids, false),
            "[gMASK]<sop><|system|>Reasoning Effort: Max<|user|>say <|user|> now<|assistant|><think>");
  const int32_t user = *TinyTokenizer().TokenId("<|user|>");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), user), 1);
  for (const char* stop : {"<|endoftext|>", "<|user|>", "<|observation|>", "<|system|>", "<|assistant|>"}) {
    const int32_t id = *TinyTokenizer().TokenId(stop);
    EXPECT_EQ(std::count(spec.stop_ids.begin(), spec.stop_ids.end(), id), 1) << stop;
  }
}

TEST_F(ChatApi, StreamsEachTokenInAChunkOfItsOwn) {
  Start();
  Json request = Chat("Hi");
  request["stream"] = true;
  request["stream_options"] = Json::object({{"include_usage", true}});
  const HttpReply reply = Post("/v1/chat/completions", request);
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "text/event-stream");
  const std::vector<std::string> events = EventData(reply.body);
  EXPECT_EQ(Json::parse(events.at(0))["choices"][0]["delta"], Json::object({{"role", "assistant"}}));
  EXPECT_EQ(events.back(), "[DONE]");
  const Json usage = Json::parse(events.at(events.size() - 2));
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_GT(usage["usage"]["completion_tokens"], 0);
  EXPECT_GE(reply.chunks.size(), 5u);
  EXPECT_TRUE(Join(reply.body).done);
}

TEST_F(ChatApi, StreamedEqualsUnstreamedForAnyChunking) {
  const std::vector<std::string> outputs = {
      "thinking 日本 hard</think>An answer — with dashes 🎉🎊 and more.  ",
      "t</think><tool_call>get_weather<arg_key>city</arg_key><arg_value>Pa\"ris</arg_value><arg_key>days</arg_key>"
      "<arg_value>3</arg_value></tool_call><tool_call>get_weather<arg_key>city</arg_key><arg_value>Rome</arg_value>"
      "</tool_call>",
      "a</think>before <tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo",
      "never closed <b>",
      "x</think>one STOP two",
      "</think>",
      "x</think>a <tool_call>bad name</tool_call> b"};
  std::mt19937 random(7);
  std::string output;
  director_ = [&](const engine::GenerateSpec&) {
    Script script;
    const std::vector<int32_t> ids = TinyTokenizer().Encode(output);
    for (size_t at = 0; at < ids.size();) {
      const size_t part = std::min<size_t>(ids.size() - at, 1 + random() % 4);
      script.chunks.emplace_back(ids.begin() + static_cast<long>(at), ids.begin() + static_cast<long>(at + part));
      at += part;
    }
    script.by_length = output.ends_with("Oslo");
    return script;
  };
  Start();
  for (int round = 0; round < 42; ++round) {
    output = outputs[static_cast<size_t>(round) % outputs.size()];
    Json request = Chat("Hi");
    request["tools"] = kTools;
    request["stop"] = "STOP";
    request["chat_template_kwargs"] = Json::object();
    const HttpReply whole = Post("/v1/chat/completions", request);
    request["stream"] = true;
    request["stream_options"] = Json::object({{"include_usage", true}});
    const HttpReply streamed = Post("/v1/chat/completions", request);
    ASSERT_EQ(whole.status, 200) << whole.body;
    const Json choice = Json::parse(whole.body)["choices"][0];
    const Joined joined = Join(streamed.body);
    EXPECT_EQ(OrEmpty(choice["message"]["content"]), joined.content) << output;
    EXPECT_EQ(OrEmpty(choice["message"]["reasoning_content"]), joined.reasoning) << output;
    EXPECT_EQ(choice["finish_reason"], joined.finish) << output;
    const Json calls = choice["message"].value("tool_calls", Json::array());
    ASSERT_EQ(calls.size(), joined.calls.size()) << output;
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(calls[i]["function"]["name"], joined.calls[i].first);
      EXPECT_EQ(calls[i]["function"]["arguments"], joined.calls[i].second);
    }
    EXPECT_EQ(joined.content.find("STOP"), std::string::npos);
    EXPECT_TRUE(joined.done);
  }
}

TEST_F(ChatApi, ToolCallsHaveIdsAndTypedArguments) {
  director_ = [](const engine::GenerateSpec&) {
    return Saying(
        "t</think><tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value><arg_key>days</arg_key>"
        "<arg_value>3</arg_value></tool_call>");
  };
  Start();
  Json request = Chat("Weather?");
  request["tools"] = kTools;
  const Json choice = Json::parse(Post("/v1/chat/completions", request).body)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  const Json call = choice["message"]["tool_calls"][0];
  EXPECT_EQ(call["function"]["arguments"], R"({"city": "Paris", "days": 3})");
  EXPECT_EQ(call["type"], "function");
  EXPECT_EQ(call["id"].get<std::string>().size(), std::string("call_").size() + 24);
  EXPECT_TRUE(choice["message"]["content"].is_null());

  request["tool_choice"] = "none";  // tags are text, and the prompt lists no tools
  const Json plain = Json::parse(Post("/v1/chat/completions", request).body)["choices"][0];
  EXPECT_FALSE(plain["message"].contains("tool_calls"));
  EXPECT_EQ(TinyTokenizer().Decode(worker_->seen().back().prompt_ids, false).find("# Tools"), std::string::npos);
}

TEST_F(ChatApi, StopStringsNeverLeakAndEndTheGeneration) {
  director_ = [](const engine::GenerateSpec&) {
    Script script = Saying("th STOP ink</think>alpha beta ST ST");
    for (const int32_t id : TinyTokenizer().Encode("OP gamma")) script.chunks.push_back({id});
    script.hang_at_end = true;
    return script;
  };
  Start();
  Json request = Chat("Hi");
  request["stop"] = Json::array({"nothing", "STOP"});
  for (const bool stream : {false, true}) {
    request["stream"] = stream;
    const HttpReply reply = Post("/v1/chat/completions", request);
    ASSERT_EQ(reply.status, 200);
    const Json message = stream ? Json() : Json::parse(reply.body)["choices"][0]["message"];
    const std::string content = stream ? Join(reply.body).content : OrEmpty(message["content"]);
    const std::string reasoning = stream ? Join(reply.body).reasoning : OrEmpty(message["reasoning_content"]);
    EXPECT_EQ(content, "alpha beta ST");
    EXPECT_EQ(reasoning, "th STOP ink");  // stop strings belong to the content
  }
  EXPECT_TRUE(Eventually([this] { return worker_->cancelled() == 2 && worker_->running() == 0; }));
}

TEST_F(ChatApi, SeveralChoicesHaveTheirOwnSeeds) {
  director_ = [](const engine::GenerateSpec& spec) {
    return Saying(StrCat("t</think>answer ", spec.sampling.seed.value_or(0)));
  };
  Start();
  Json request = Chat("Hi");
  request["n"] = 3;
  request["seed"] = 40;
  const Json body = Json::parse(Post("/v1/chat/completions", request).body);
  ASSERT_EQ(body["choices"].size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    EXPECT_EQ(body["choices"][i]["message"]["content"], StrCat("answer ", 40 + i));
  }
}

TEST_F(ChatApi, LogprobsHaveOneEntryAToken) {
  Start();
  Json request = Chat("Hi");
  request["logprobs"] = true;
  request["top_logprobs"] = 2;
  const Json body = Json::parse(Post("/v1/chat/completions", request).body);
  const Json& content = body["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), body["usage"]["completion_tokens"].get<size_t>());
  std::string text;
  for (const Json& entry : content) {
    text += entry["token"].get<std::string>();
    EXPECT_FLOAT_EQ(entry["logprob"].get<float>(), -0.25f);
    EXPECT_EQ(entry["top_logprobs"].size(), 2u);
  }
  EXPECT_EQ(text, "thought</think>Hello there!");
  request["stream"] = true;
  size_t streamed = 0;
  for (const std::string& data : EventData(Post("/v1/chat/completions", request).body)) {
    if (data == "[DONE]") continue;
    const Json logprobs = Json::parse(data)["choices"][0]["logprobs"];
    if (logprobs.is_object()) streamed += logprobs["content"].size();
  }
  EXPECT_EQ(streamed, content.size());
}

TEST_F(ChatApi, ThinkingControlsChangeThePromptAndTheParser) {
  director_ = [](const engine::GenerateSpec&) { return Saying("plain answer"); };
  Start();
  Json request = Chat("Hi");
  for (const Json& off :
       {Json{{"enable_thinking", false}}, Json{{"thinking", Json{{"type", "disabled"}}}},
        Json{{"reasoning_effort", "none"}}, Json{{"chat_template_kwargs", Json{{"enable_thinking", false}}}}}) {
    Json one = request;
    one.update(off);
    const Json message = Json::parse(Post("/v1/chat/completions", one).body)["choices"][0]["message"];
    EXPECT_EQ(message["content"], "plain answer") << off;
    EXPECT_TRUE(TinyTokenizer().Decode(worker_->seen().back().prompt_ids, false).ends_with("<think></think>")) << off;
  }
  request["reasoning_effort"] = "medium";
  const Json message = Json::parse(Post("/v1/chat/completions", request).body)["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "plain answer");
  EXPECT_NE(TinyTokenizer().Decode(worker_->seen().back().prompt_ids, false).find("Effort: High"), std::string::npos);
}

TEST_F(ChatApi, TemplateIsShownWithoutGenerating) {
  Start();
  const Json body = Json::parse(Post("/apply-template", Chat("Hi")).body);
  EXPECT_EQ(body["prompt"], "[gMASK]<sop><|system|>Reasoning Effort: Max<|user|>Hi<|assistant|><think>");
  EXPECT_EQ(body["tokens"], TinyTokenizer().Encode(body["prompt"].get<std::string>()).size());
  EXPECT_TRUE(worker_->seen().empty());
}

TEST_F(ChatApi, AnEnforcedAnswerMayLookLikeATag) {
  Start();
  for (const std::string text : {"<think>", "</think> and more"}) {
    for (const bool thinks : {true, false}) {
      director_ = [&](const engine::GenerateSpec&) { return Saying((thinks ? "thought</think>" : "") + text); };
      Json request = Chat("Hi");
      request["guided_choice"] = {text, "x"};
      request["enable_thinking"] = thinks;
      const Json message = Json::parse(Post("/v1/chat/completions", request).body)["choices"][0]["message"];
      EXPECT_EQ(message["content"], text);
      EXPECT_EQ(message["reasoning_content"], thinks ? Json("thought") : Json());
    }
  }
}

TEST_F(ChatApi, UnknownFieldsAreListedOrRefused) {
  Start();
  Json request = Chat("Hi");
  request["frobnicate"] = 1;
  request["x y"] = 2;
  request["absent"] = nullptr;
  EXPECT_EQ(Post("/v1/chat/completions", request).headers.at("x-hearth-ignored"), "frobnicate, x?y");
  gateway_.reset();
  config_.strict = true;
  Start();
  const HttpReply refused = Post("/v1/chat/completions", request);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(Json::parse(refused.body)["error"]["param"], "frobnicate");
  request.erase("frobnicate");
  request.erase("x y");
  EXPECT_EQ(Post("/v1/chat/completions", request).status, 200);
}

TEST_F(ChatApi, ErrorsQuoteLittleOfTheRequest) {
  config_.strict = true;
  Start();
  const std::string name(3'000'000, 'k');
  for (const std::string& body : {"{\"" + name + "\":1,\"" + name + "\":1}",
                                  R"({"messages":[{"role":"user","content":"Hi"}],")" + name + "\":1}"}) {
    const HttpReply refused = Fetch(gateway_->port(), "POST", "/v1/chat/completions", body);
    EXPECT_EQ(refused.status, 400);
    EXPECT_LT(refused.body.size(), 2500u);
    EXPECT_TRUE(Json::parse(refused.body)["error"]["param"].get<std::string>().starts_with("kkkk"));
  }
}

}  // namespace
}  // namespace hearth::test
