#include <fstream>
#include <set>
#include <sstream>

#include "common/base/startup_error.h"
#include "tests/gateway/running_gateway.h"

namespace hearth::test {
namespace {

class OtherApi : public RunningGateway {
 protected:
  static std::vector<int32_t> Ids(const std::string& text) { return TinyTokenizer().Encode(text); }
};

TEST_F(OtherApi, CompletionsTakeAllPromptShapes) {
  director_ = [](const engine::GenerateSpec& spec) { return Saying(StrCat("n", spec.prompt_ids.size())); };
  Start();
  const std::vector<int32_t> ids = Ids("one two three");
  struct Case {
    Json prompt;
    std::vector<std::string> texts;
  };
  const std::string n = StrCat("n", ids.size());
  for (const Case& c : std::initializer_list<Case>{{Json("one two three"), {n}},
                                                   {Json(ids), {n}},
                                                   {Json::array({"one two three", "one two three"}), {n, n}},
                                                   {Json::array({Json(ids), Json::array({5})}), {n, "n1"}}}) {
    const HttpReply reply = Post("/v1/completions", Json{{"prompt", c.prompt}, {"max_tokens", 5}});
    ASSERT_EQ(reply.status, 200) << reply.body;
    const Json body = Json::parse(reply.body);
    ASSERT_EQ(body["choices"].size(), c.texts.size());
    for (size_t i = 0; i < c.texts.size(); ++i) {
      EXPECT_EQ(body["choices"][i]["text"], c.texts[i]);
      EXPECT_EQ(body["choices"][i]["index"], i);
      EXPECT_EQ(body["choices"][i]["finish_reason"], "stop");
    }
    EXPECT_EQ(body["object"], "text_completion");
  }
}

TEST_F(OtherApi, CompletionStreamEqualsWholeAndStops) {
  director_ = [](const engine::GenerateSpec&) { return Saying("alpha 日本 beta END gamma"); };
  Start();
  Json request = {{"prompt", "x"}, {"stop", "END"}, {"logprobs", 2}, {"echo", true}, {"n", 2}};
  const Json whole = Json::parse(Post("/v1/completions", request).body);
  request["stream"] = true;
  std::vector<std::string> texts(2);
  std::vector<size_t> tokens(2);
  for (const std::string& data : EventData(Post("/v1/completions", request).body)) {
    if (data == "[DONE]") continue;
    const Json choice = Json::parse(data)["choices"][0];
    const size_t index = choice["index"];
    texts.at(index) += choice["text"].get<std::string>();
    if (choice["logprobs"].is_object()) tokens.at(index) += choice["logprobs"]["tokens"].size();
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(whole["choices"][i]["text"], "xalpha 日本 beta ");
    EXPECT_EQ(texts[i], whole["choices"][i]["text"]);
    const Json& logprobs = whole["choices"][i]["logprobs"];
    EXPECT_EQ(tokens[i], logprobs["tokens"].size());
    EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
    EXPECT_EQ(logprobs["text_offset"][0], 0);
    EXPECT_EQ(logprobs["text_offset"][1], 1);
  }
}

// The prompt is echoed with its special tokens, those of the completion do not show; a character of several tokens
// counts once.
TEST_F(OtherApi, TextOffsetsPointIntoTheText) {
  const std::string prompt = "日本<|user|>é one", said = "<|assistant|>二 two<|user|> three";
  director_ = [&](const engine::GenerateSpec&) { return Saying(said); };
  Start();
  const Json body = Json::parse(
      Post("/v1/completions", Json{{"prompt", prompt}, {"max_tokens", 50}, {"echo", true}, {"logprobs", 0}}).body);
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["text"], prompt + "二 two three");
  const std::string text = choice["text"];
  const auto from_character = [&](size_t count) {
    size_t at = 0;
    for (; at < text.size() && count > 0; --count) {
      do ++at;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
    }
    return text.substr(at);
  };
  const Json& logprobs = choice["logprobs"];
  for (size_t i = 1; i < logprobs["tokens"].size(); ++i) {
    Json sampled;
    sampled[logprobs["tokens"][i].get<std::string>()] = logprobs["token_logprobs"][i];
    EXPECT_EQ(logprobs["top_logprobs"][i], sampled) << i;
  }
  const size_t prompt_tokens = Ids(prompt).size();
  ASSERT_EQ(logprobs["text_offset"].size(), prompt_tokens + Ids(said).size());
  for (size_t i = 0; i < logprobs["tokens"].size(); ++i) {
    const std::string token = logprobs["tokens"][i];
    const bool part_of_a_character = token.starts_with("bytes:");
    const bool hidden = i >= prompt_tokens && token.starts_with("<|");
    if (part_of_a_character || hidden) continue;
    EXPECT_EQ(from_character(logprobs["text_offset"][i]).substr(0, token.size()), token) << i;
  }
}

// By their text alone they would be one key of top_logprobs.
TEST_F(OtherApi, PartsOfCharactersAreNamedByTheirBytes) {
  Start();
  const std::string prompt = "one \U0001F600";
  const Json body = Json::parse(
      Post("/v1/completions", Json{{"prompt", prompt}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 0}}).body);
  std::string joined;
  for (const Json& token : body["choices"][0]["logprobs"]["tokens"]) {
    const std::string name = token;
    if (!name.starts_with("bytes:")) {
      joined += name;
      continue;
    }
    for (size_t at = 6; at < name.size(); at += 4) {
      ASSERT_EQ(name.substr(at, 2), "\\x") << name;
      joined += static_cast<char>(std::stoi(name.substr(at + 2, 2), nullptr, 16));
    }
  }
  EXPECT_EQ(joined, prompt);
}

TEST_F(OtherApi, APromptThatFillsTheContextCanBeScored) {
  Start();
  const std::vector<int32_t> full(8192, 7);
  Json scored = {{"input_ids", full}, {"sampling_params", {{"max_new_tokens", 0}}}, {"return_logprob", true}};
  EXPECT_EQ(Post("/generate", scored).status, 200);
  Json echoed = {{"prompt", full}, {"max_tokens", 0}, {"echo", true}};
  EXPECT_EQ(Post("/v1/completions", echoed).status, 200);
  scored["sampling_params"]["max_new_tokens"] = 1;
  echoed["max_tokens"] = 1;
  EXPECT_EQ(Post("/generate", scored).status, 400);
  EXPECT_EQ(Post("/v1/completions", echoed).status, 400);
}

TEST_F(OtherApi, EchoAloneScoresThePrompt) {
  Start();
  const Json body = Json::parse(
      Post("/v1/completions", Json{{"prompt", "one two three"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}})
          .body);
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["text"], "one two three");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["logprobs"]["tokens"].size(), Ids("one two three").size());
  EXPECT_FLOAT_EQ(choice["logprobs"]["token_logprobs"][1].get<float>(), -1.5f);
  const Json& top = choice["logprobs"]["top_logprobs"][1];
  EXPECT_EQ(top.size(), 2u) << "the most likely token, and the one that is there";
  EXPECT_FLOAT_EQ(top.at(choice["logprobs"]["tokens"][1].get<std::string>()).get<float>(), -1.5f);
  EXPECT_TRUE(worker_->seen().empty());
}

TEST_F(OtherApi, EchoesBeyondWhatAnAnswerMayListAreNotScored) {
  Start();
  worker_->HangScores();
  const Json prompt(std::vector<int32_t>(4000, 7));
  Json request = {{"prompt", Json::array({prompt, prompt, prompt, prompt, prompt, prompt, prompt, prompt})},
                  {"n", 8},
                  {"logprobs", 20},
                  {"echo", true},
                  {"max_tokens", 0}};
  const HttpReply reply = Post("/v1/completions", request);
  EXPECT_EQ(reply.status, 400);
  const Json error = Json::parse(reply.body)["error"];
  EXPECT_EQ(error["param"], "logprobs");
  for (const char* part : {"5376000", "4000000", "fewer choices"}) {
    EXPECT_NE(error["message"].get<std::string>().find(part), std::string::npos) << error;
  }
  // Without log-probabilities nothing is listed.
  request.erase("logprobs");
  EXPECT_EQ(Post("/v1/completions", request).status, 200);
}

TEST_F(OtherApi, GenerateStreamsTheTextSoFar) {
  director_ = [](const engine::GenerateSpec&) { return Saying("alpha beta gamma"); };
  Start();
  Json request = {{"text", "x"}, {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 50}}}};
  const Json whole = Json::parse(Post("/generate", request).body);
  EXPECT_EQ(whole["text"], "alpha beta gamma");
  EXPECT_EQ(whole["output_ids"], Json(Ids("alpha beta gamma")));
  EXPECT_EQ(whole["meta_info"]["finish_reason"], (Json{{"type", "stop"}, {"matched", 4067}}));
  EXPECT_EQ(whole["meta_info"]["prompt_tokens"], 1);
  EXPECT_EQ(worker_->seen().at(0).max_tokens, 50u);
  request["stream"] = true;
  const std::vector<std::string> events = EventData(Post("/generate", request).body);
  std::string last;
  for (const std::string& data : events) {
    if (data == "[DONE]") continue;
    const std::string text = Json::parse(data)["text"];
    EXPECT_TRUE(text.starts_with(last));
    last = text;
  }
  EXPECT_EQ(last, "alpha beta gamma");
  EXPECT_EQ(events.size(), Ids("alpha beta gamma").size() + 2);
  EXPECT_TRUE(Json::parse(events.at(0))["meta_info"]["finish_reason"].is_null());
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(OtherApi, GenerateScoresASequence) {
  Start();
  const std::vector<int32_t> ids = {10, 20, 30, 40, 50, 60};
  Json request = {{"input_ids", ids},       {"sampling_params", {{"max_new_tokens", 0}, {"temperature", 0}}},
                  {"return_logprob", true}, {"logprob_start_len", 0},
                  {"top_logprobs_num", 2},  {"token_ids_logprob", {7, 8}},
                  {"logits_hash", true}};
  const Json all = Json::parse(Post("/generate", request).body);
  const Json& meta = all["meta_info"];
  ASSERT_EQ(meta["input_top_logprobs"].size(), 6u);
  EXPECT_TRUE(meta["input_top_logprobs"][0].is_null());
  EXPECT_EQ(meta["input_top_logprobs"][1], Json::parse("[[-0.5,11,null],[-1.5,12,null]]"));
  EXPECT_EQ(meta["input_top_logprobs"][5], Json::parse("[[-0.5,51,null],[-1.5,52,null]]"));
  EXPECT_EQ(meta["input_token_ids_logprobs"][3], Json::parse("[[-2.0,7,null],[-2.0,8,null]]"));
  EXPECT_EQ(meta["input_token_logprobs"][1], Json::parse("[-1.5,20,null]"));
  EXPECT_EQ(meta["output_top_logprobs"], Json::parse("[[[-0.5,61,null],[-1.5,62,null]]]"));
  EXPECT_EQ(meta["output_token_ids_logprobs"].size(), 1u);
  EXPECT_EQ(all["output_ids"], Json::parse("[61]"));
  ASSERT_EQ(meta["input_logits_hash"].size(), 6u);
  EXPECT_EQ(meta["input_logits_hash"][5], "0000000000001005");

  request["logprob_start_len"] = 4;
  request["path"] = "DECODE";
  request["decode_from"] = 2;
  const Json tail = Json::parse(Post("/generate", request).body)["meta_info"];
  ASSERT_EQ(tail["input_top_logprobs"].size(), 2u);
  EXPECT_EQ(tail["input_top_logprobs"][0], Json::parse("[[-0.5,41,null],[-1.5,42,null]]"));
  ASSERT_EQ(tail["input_logits_hash"].size(), 3u);  // rows 3 to 5
  EXPECT_EQ(tail["input_logits_hash"][0], "0000000000002003");

  request.erase("logprob_start_len");
  request.erase("path");
  request.erase("decode_from");
  request.erase("logits_hash");
  const Json none = Json::parse(Post("/generate", request).body)["meta_info"];
  EXPECT_TRUE(none["input_top_logprobs"].empty());
  EXPECT_EQ(none["output_top_logprobs"].size(), 1u);
}

TEST_F(OtherApi, OneTokenThatIsSampledIsGenerated) {
  director_ = [](const engine::GenerateSpec&) {
    Script script;
    script.chunks = {{100}};
    script.by_length = true;
    return script;
  };
  Start();
  const Json answer =
      Json::parse(Post("/generate", Json{{"input_ids", {1, 2}},
                                         {"sampling_params", {{"max_new_tokens", 1}, {"logit_bias", {{"3", -100}}}}},
                                         {"return_logprob", true}})
                      .body);
  EXPECT_EQ(answer["output_ids"], Json::parse("[100]"));
  ASSERT_EQ(worker_->seen().size(), 1u);
  EXPECT_EQ(worker_->seen()[0].sampling.logit_bias.at(3), -100.f);
  EXPECT_EQ(worker_->seen()[0].sampling.temperature, 0.f) << "the bias alone makes nothing random";
}

TEST_F(OtherApi, GenerationReportsHashesAndLogprobs) {
  director_ = [](const engine::GenerateSpec&) {
    Script script;
    script.chunks = {{100}, {101}};
    script.by_length = true;
    return script;
  };
  Start();
  const Json meta =
      Json::parse(Post("/generate", Json{{"input_ids", {1, 2}},
                                         {"sampling_params", {{"max_new_tokens", 2}, {"ignore_eos", true}}},
                                         {"logits_hash", true},
                                         {"return_logprob", true},
                                         {"top_logprobs_num", 1}})
                      .body)["meta_info"];
  EXPECT_EQ(meta["output_logits_hash"], Json::parse(R"(["00000000abcd0064","00000000abcd0065"])"));
  EXPECT_EQ(meta["output_token_logprobs"], Json::parse("[[-0.25,100,null],[-0.25,101,null]]"));
  EXPECT_EQ(meta["output_top_logprobs"], Json::parse("[[[-0.25,100,null]],[[-0.25,101,null]]]"));
  EXPECT_EQ(meta["finish_reason"]["type"], "length");
  EXPECT_TRUE(worker_->seen().at(0).ignore_eos);
}

TEST_F(OtherApi, TokensRoundTrip) {
  Start();
  const std::string text = "Hello <|user|> 日本 🎉";
  const Json tokens = Json::parse(Post("/tokenize", Json{{"prompt", text}}).body);
  EXPECT_EQ(tokens["tokens"], Json(Ids(text)));
  EXPECT_EQ(tokens["count"], Ids(text).size());
  EXPECT_EQ(Json::parse(Post("/detokenize", Json{{"tokens", tokens["tokens"]}}).body)["text"], text);
  EXPECT_EQ(Post("/detokenize", R"({"tokens":[99999]})").status, 400);
  EXPECT_EQ(Post("/detokenize", R"({"tokens":"x"})").status, 400);
  EXPECT_EQ(Post("/tokenize", R"({"prompt":5})").status, 400);
}

TEST_F(OtherApi, InfoAndStatsHaveTheirFields) {
  Start();
  const Json info = Json::parse(Get("/server_info").body);
  EXPECT_EQ(info["context_length"], 8192);
  EXPECT_EQ(info["load_seconds"], 1.5);
  for (const char* name : {"max_running_requests", "max_total_num_tokens", "chunked_prefill_size", "kv_cache_dtype",
                           "context_length", "max-batch-size"}) {
    EXPECT_TRUE(info["server_args"].contains(name)) << name;
  }
  const Json stats = Json::parse(Get("/stats").body);
  EXPECT_EQ(stats["requests"], 11);
  EXPECT_EQ(stats["completion_tokens"], 22);
  EXPECT_EQ(stats["expert_cache"]["hit_rate"], 0.75);
  for (const char* name :
       {"slots", "used", "lent", "hits", "misses", "admissions", "evictions", "fetched_ahead", "used_ahead"}) {
    EXPECT_TRUE(stats["expert_cache"].contains(name)) << name;
  }
  for (const char* name : {"up", "jobs", "experts", "timeouts", "wait_ms_per_job", "isa", "threads", "selftest"}) {
    EXPECT_TRUE(stats["cpu_tier"].contains(name)) << name;
  }
  EXPECT_EQ(stats["lanes"]["picks"]["cpu"], 5);
  EXPECT_TRUE(stats["lanes"]["bytes"].contains("staged"));
  EXPECT_EQ(Get("/").headers.at("content-type"), "text/html; charset=utf-8");
}

// Names, types and labels of the metrics, without values.
std::set<std::string> MetricShapes(const std::string& exposition) {
  std::set<std::string> shapes;
  std::stringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      shapes.insert(line.substr(7));
    } else if (!line.starts_with("#") && line.find("_bucket{") == std::string::npos) {
      std::string series = line.substr(0, line.rfind(' '));
      for (const std::string label : {"version=\"", "worker=\""}) {
        const size_t at = series.find(label);
        if (at == std::string::npos) continue;
        const size_t value = at + label.size();
        series.replace(value, series.find('"', value) - value, "*");
      }
      shapes.insert(series);
    }
  }
  return shapes;
}

TEST_F(OtherApi, MetricNamesAreThoseOfTheList) {
  Start();
  ASSERT_EQ(Post("/v1/chat/completions", Chat("Hi")).status, 200);
  std::ifstream file(std::string(HEARTH_SOURCE_DIR) + "/tests/golden/metrics_gateway.txt");
  std::set<std::string> expected;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') expected.insert(line);
  }
  EXPECT_EQ(MetricShapes(Get("/metrics").body), expected);
}

TEST_F(OtherApi, MalformedBodiesAreRefusedAndTheServerServesOn) {
  Start();
  const std::string good = Chat("Hi").dump();
  std::vector<std::string> bodies = {"",
                                     " ",
                                     "{",
                                     "}",
                                     "[]",
                                     "null",
                                     "1",
                                     "\"x\"",
                                     "true",
                                     "{}",
                                     "{\"messages\"",
                                     "{\"messages\":",
                                     "{\"messages\":[",
                                     "nul",
                                     "NaN",
                                     "{'messages':[]}",
                                     "{\"messages\":[],}",
                                     "{\"a\":1 \"b\":2}",
                                     "{} {}",
                                     good + "x",
                                     good + good,
                                     "\xEF\xBB\xBF"
                                     "{",
                                     "{\"messages\":\"\xff\xfe\"}",
                                     "{\"messages\":\"\xC0\xAF\"}",
                                     "{\"messages\":\"\xED\xA0\x80\"}",
                                     "{\"messages\":\"\xF4\x90\x80\x80\"}",
                                     "{\"messages\":[{\"role\":\"user\",\"content\":\"\\ud800\"}]}",
                                     "{\"messages\":[{\"role\":\"user\",\"content\":\"\\udc00x\"}]}",
                                     "{\"messages\":[{\"role\":\"user\",\"content\":\"\\ud800\\ud800\"}]}",
                                     "{\"messages\":[{\"role\":\"user\",\"content\":\"\\x\"}]}",
                                     "{\"messages\":[{\"role\":\"user\",\"content\":\"a\nb\"}]}",
                                     "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"messages\":[]}",
                                     "{\"messages\":[{\"role\":\"user\",\"role\":\"user\",\"content\":\"x\"}]}",
                                     std::string(100'000, '['),
                                     std::string(100'000, '{'),
                                     "{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}",
                                     "{\"messages\":" + std::string(200, '[') + "1" + std::string(200, ']') + "}",
                                     std::string("{\"a\":\0}", 7),
                                     std::string(1000, '\0'),
                                     "\x1f\x8b\x08"};
  for (size_t cut = 1; cut < good.size(); cut += 7) bodies.push_back(good.substr(0, cut));
  for (const char* member : {"\"temperature\":NaN",
                             "\"temperature\":Infinity",
                             "\"temperature\":-Infinity",
                             "\"temperature\":1e999",
                             "\"temperature\":1e18",
                             "\"temperature\":-1",
                             "\"temperature\":\"0\"",
                             "\"temperature\":[]",
                             "\"temperature\":01",
                             "\"temperature\":.5",
                             "\"temperature\":+1",
                             "\"max_tokens\":1e18",
                             "\"max_tokens\":-5",
                             "\"max_tokens\":0",
                             "\"max_tokens\":1.5",
                             "\"max_tokens\":99999999999999999999999999",
                             "\"n\":1e18",
                             "\"n\":0",
                             "\"top_p\":2",
                             "\"seed\":1e300",
                             "\"stop\":[1]",
                             "\"stop\":\"\"",
                             "\"stream\":\"true\"",
                             "\"tools\":{}",
                             "\"tools\":[[]]",
                             "\"logit_bias\":{\"99999\":1}",
                             "\"logit_bias\":{\"1\":1e18}",
                             "\"model\":5",
                             "\"user\":5",
                             "\"response_format\":{\"type\":\"xml\"}",
                             "\"tool_choice\":\"required\"",
                             "\"functions\":[]",
                             "\"stream_options\":{}"}) {
    bodies.push_back(good.substr(0, good.size() - 1) + "," + member + "}");
  }
  ASSERT_GE(bodies.size(), 80u);
  for (const std::string& body : bodies) {
    const HttpReply reply = Post("/v1/chat/completions", body);
    ASSERT_GE(reply.status, 400) << body.substr(0, 200);
    ASSERT_LT(reply.status, 500) << body.substr(0, 200) << reply.body;
    EXPECT_TRUE(Json::parse(reply.body)["error"]["message"].is_string());
  }
  EXPECT_TRUE(worker_->seen().empty());
  EXPECT_EQ(Post("/v1/chat/completions", good).status, 200);
  EXPECT_EQ(Fetch(port(), "POST", "/v1/chat/completions", good, {"Origin: https://x", "Content-Encoding: gzip"}).status,
            415);
}

TEST_F(OtherApi, WholeGatewayRefusesATakenPort) {
  Start();
  GatewayConfig second = config_;
  second.port = static_cast<uint16_t>(port());
  EXPECT_THROW(Gateway{second}, StartupError);
  second.port = 0;
  second.model_dir = "/nowhere";
  EXPECT_THROW(Gateway{second}, StartupError);
}

}  // namespace
}  // namespace hearth::test
