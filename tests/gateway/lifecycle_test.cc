#include "tests/gateway/running_gateway.h"

namespace hearth::test {
namespace {

class Lifecycle : public RunningGateway {
 protected:
  static std::string ChatText(const Json& body) {
    const std::string text = body.dump();
    return "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(text.size()) + "\r\n\r\n" + text;
  }
  std::string Metric(const std::string& series) {
    const std::string text = Get("/metrics").body;
    const size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return "";
    const size_t value = at + series.size() + 2;
    return text.substr(value, text.find('\n', value) - value);
  }
};

TEST_F(Lifecycle, ClientThatLeavesCancelsItsStreamInEveryPhase) {
  struct Case {
    const char* phase;
    Script script;
    bool stream;
  };
  Script queued;
  queued.queue_position = 3;
  queued.before_first = std::chrono::minutes(1);
  Script prefill;
  prefill.before_first = std::chrono::minutes(1);
  Script decode = Saying("one two three");
  decode.hang_at_end = true;
  Script current;
  director_ = [&](const engine::GenerateSpec&) { return current; };
  Start();
  int cancelled = 0;
  for (const Case& c : std::initializer_list<Case>{{"queued", queued, false},
                                                   {"prefill", prefill, true},
                                                   {"prefill", prefill, false},
                                                   {"decode", decode, true},
                                                   {"decode", decode, false}}) {
    current = c.script;
    const std::string series = std::string("hearth_cancelled_total{phase=\"") + c.phase + "\"}";
    const double before = std::stod("0" + Metric(series));
    HttpProbe probe(port());
    Json request = Chat("Hi");
    request["stream"] = c.stream;
    probe.Send(ChatText(request));
    ASSERT_TRUE(Eventually([this] { return worker_->running() == 1; }));
    if (c.stream) {
      EXPECT_FALSE(probe.ReadSome().empty());
    }
    if (std::string(c.phase) == "decode") {
      ASSERT_TRUE(Eventually([this] { return Metric("hearth_requests_running") == "1"; }));
    } else {
      ASSERT_TRUE(Eventually([this] { return Metric("hearth_requests_waiting") == "1"; }));
      std::this_thread::sleep_for(std::chrono::milliseconds(30));  // lets `accepted` arrive
    }
    probe.Close();
    ++cancelled;
    ASSERT_TRUE(Eventually([&] { return worker_->cancelled() == cancelled && worker_->running() == 0; })) << c.phase;
    ASSERT_TRUE(Eventually([&] { return std::stod("0" + Metric(series)) == before + 1; })) << c.phase;
    EXPECT_EQ(Metric("hearth_requests_running"), "0");
    EXPECT_EQ(Metric("hearth_requests_waiting"), "0");
  }
}

TEST_F(Lifecycle, ClientThatDoesNotReadIsCancelled) {
  config_.write_timeout = std::chrono::milliseconds(150);
  director_ = [](const engine::GenerateSpec&) {
    Script script;
    const std::vector<int32_t> ids = TinyTokenizer().Encode("some more words of text");
    script.chunks.assign(20'000, ids);
    return script;
  };
  Start();
  HttpProbe probe(port(), 4096);
  Json request = Chat("Hi");
  request["stream"] = true;
  probe.Send(ChatText(request));
  ASSERT_TRUE(Eventually([this] { return worker_->running() == 1; }));
  EXPECT_TRUE(Eventually([this] { return Metric("hearth_cancelled_total{phase=\"not_reading\"}") == "1"; }));
  EXPECT_TRUE(Eventually([this] { return worker_->running() == 0; }));
}

TEST_F(Lifecycle, AWorkerLostWhileScoringGives503) {
  Start();
  worker_->HangScores();
  const auto post = [](const char* path, const Json& body) {
    const std::string text = body.dump();
    return StrCat("POST ", path, " HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ", text.size(),
                  "\r\n\r\n", text);
  };
  HttpProbe generate(port()), completion(port());
  generate.Send(post(
      "/generate",
      {{"input_ids", {1, 2, 3, 4, 5, 6}}, {"sampling_params", {{"max_new_tokens", 0}}}, {"return_logprob", true}}));
  completion.Send(
      post("/v1/completions", {{"prompt", "one two three four"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}}));
  ASSERT_TRUE(Eventually([this] { return worker_->running() == 2; }));
  worker_.reset();
  for (HttpProbe* probe : {&generate, &completion}) {
    const HttpReply reply = probe->Receive();
    EXPECT_EQ(reply.status, 503) << reply.body;
    EXPECT_TRUE(reply.headers.contains("retry-after"));
    const Json error = Json::parse(reply.body)["error"];
    EXPECT_EQ(error["type"], "server_error");
    EXPECT_NE(error["message"].get<std::string>().find("the worker "), std::string::npos) << error;
  }
  EXPECT_EQ(Metric("hearth_cancelled_total{phase=\"prefill\"}"), "0");
}

TEST_F(Lifecycle, AClientThatLeavesAScoringIsCounted) {
  Start();
  worker_->HangScores();
  HttpProbe probe(port());
  const std::string body = R"({"prompt":"one two three four","max_tokens":0,"echo":true,"logprobs":1})";
  probe.Send(StrCat("POST /v1/completions HTTP/1.1\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  ASSERT_TRUE(Eventually([this] { return worker_->running() == 1; }));
  probe.Close();
  EXPECT_TRUE(Eventually([this] { return worker_->cancelled() == 1; }));
  EXPECT_TRUE(Eventually([this] { return Metric("hearth_cancelled_total{phase=\"prefill\"}") == "1"; }));
}

TEST_F(Lifecycle, LostWorkerGivesAnErrorEventThen503ThenRecovers) {
  director_ = [](const engine::GenerateSpec&) {
    Script script = Saying("one two");
    script.hang_at_end = true;
    return script;
  };
  Start();
  HttpProbe streaming(port()), whole(port());
  Json request = Chat("Hi");
  whole.Send(ChatText(request));
  request["stream"] = true;
  streaming.Send(ChatText(request));
  ASSERT_TRUE(Eventually([this] { return Metric("hearth_requests_running") == "2"; }));
  const std::string address = worker_->address();
  worker_.reset();
  const std::vector<std::string> events = EventData(streaming.Receive().body);
  ASSERT_GE(events.size(), 2u);
  const Json error = Json::parse(events.at(events.size() - 2));
  EXPECT_EQ(error["error"]["type"], "server_error");
  EXPECT_NE(error["error"]["message"].get<std::string>().find("worker"), std::string::npos) << error;
  EXPECT_EQ(whole.Receive().status, 503);
  ASSERT_TRUE(Eventually([this] { return Get("/health").status == 503; }));
  EXPECT_EQ(Json::parse(Get("/health").body)["state"], "worker_down");
  EXPECT_EQ(Get("/health/live").status, 200);
  for (const char* path : {"/v1/models", "/server_info", "/stats"}) EXPECT_EQ(Get(path).status, 503) << path;
  const HttpReply refused = Post("/v1/chat/completions", Chat("Hi"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.count("retry-after"), 1u);
  EXPECT_TRUE(Eventually([&] { return Metric("hearth_worker_up{worker=\"" + address + "\"}") == "0"; }));

  worker_ = std::make_unique<FakeWorker>([](const engine::GenerateSpec&) { return Saying("x</think>back"); }, kModelDir,
                                         address);
  ASSERT_TRUE(Eventually([this] { return Get("/health").status == 200; }));
  EXPECT_EQ(Post("/v1/chat/completions", Chat("Hi")).status, 200);
  EXPECT_EQ(Metric("hearth_worker_up{worker=\"" + address + "\"}"), "1");
}

TEST_F(Lifecycle, HealthTellsTheWorkersState) {
  Start();
  worker_->SetState(engine::WorkerState::kLoading, 0.25);
  ASSERT_TRUE(Eventually([this] { return Get("/health").status == 503; }));
  const Json loading = Json::parse(Get("/health").body);
  EXPECT_EQ(loading["state"], "loading");
  EXPECT_EQ(loading["ok"], false);
  EXPECT_EQ(loading["load"]["ratio"], 0.25);
  EXPECT_EQ(Get("/v1/models").status, 503);
  EXPECT_EQ(Post("/tokenize", R"({"prompt":"a"})").status, 503);
  worker_->SetState(engine::WorkerState::kDraining);
  ASSERT_TRUE(Eventually([this] { return Json::parse(Get("/health").body)["state"] == "draining"; }));
  worker_->SetState(engine::WorkerState::kReady);
  worker_->SetDegraded(true, "no cpu_tier");
  ASSERT_TRUE(Eventually([this] { return Get("/health").status == 200; }));
  const Json ready = Json::parse(Get("/health").body);
  EXPECT_EQ(ready["degraded"], true);
  EXPECT_EQ(ready["degraded_reason"], "no cpu_tier");
}

TEST_F(Lifecycle, RefusalsOfTheWorkerAreMapped) {
  Status refusal;
  director_ = [&](const engine::GenerateSpec&) {
    Script script;
    script.refuse = refusal;
    return script;
  };
  Start();
  const auto answer = [&](Status status, bool stream) {
    refusal = std::move(status);
    Json request = Chat("Hi");
    request["stream"] = stream;
    return Post("/v1/chat/completions", request);
  };
  for (const bool stream : {false, true}) {  // before any token, streams too get a status of their own
    const HttpReply full = answer(ResourceExhausted("the queue is full"), stream);
    EXPECT_EQ(full.status, 429);
    EXPECT_EQ(full.headers.count("retry-after"), 1u);
    const HttpReply bad = answer(InvalidArgument("top_k is odd").WithParam("top_k"), stream);
    EXPECT_EQ(bad.status, 400);
    EXPECT_EQ(Json::parse(bad.body)["error"]["param"], "top_k");
    EXPECT_EQ(answer(FailedPrecondition("too long"), stream).status, 400);
    EXPECT_EQ(answer(Unavailable("loading"), stream).status, 503);
    EXPECT_EQ(answer(DeadlineExceeded("late"), stream).status, 504);
    EXPECT_EQ(answer(Internal("oops"), stream).status, 500);
  }
  EXPECT_EQ(Metric("hearth_request_errors_total{code=\"429\"}"), "2");
}

TEST_F(Lifecycle, FailureInMidStreamIsAnErrorEvent) {
  director_ = [](const engine::GenerateSpec&) {
    Script script = Saying("one two");
    script.break_after_chunks = Internal("the device failed");
    return script;
  };
  Start();
  Json request = Chat("Hi");
  request["stream"] = true;
  const HttpReply reply = Post("/v1/chat/completions", request);
  EXPECT_EQ(reply.status, 200);
  const std::vector<std::string> events = EventData(reply.body);
  const Json error = Json::parse(events.at(events.size() - 2))["error"];
  EXPECT_EQ(error["message"], "the device failed");
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST_F(Lifecycle, AGenerationThatTheWorkerCancelsIsAnErrorOfTheWorker) {
  director_ = [](const engine::GenerateSpec&) {
    Script script = Saying("one two");
    script.break_after_chunks = Cancelled("the client has stopped reading");
    return script;
  };
  Start();
  const std::string message = "the worker ended the request: the client has stopped reading";
  Json request = Chat("Hi");
  const HttpReply whole = Post("/v1/chat/completions", request);
  EXPECT_EQ(whole.status, 503);
  EXPECT_EQ(Json::parse(whole.body)["error"]["message"], message);
  request["stream"] = true;
  const std::vector<std::string> events = EventData(Post("/v1/chat/completions", request).body);
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(Json::parse(events.at(events.size() - 2))["error"]["message"], message);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(Metric("hearth_cancelled_total{phase=\"decode\"}"), "0");
  EXPECT_EQ(Metric("hearth_request_errors_total{code=\"503\"}"), "2");
}

TEST_F(Lifecycle, AllScoringsAndTheGenerationOfARequestShareItsTime) {
  director_ = [](const engine::GenerateSpec&) {
    Script script = Saying("one two");
    script.before_first = std::chrono::milliseconds(700);
    return script;
  };
  config_.request_timeout = std::chrono::milliseconds(1000);
  Start();
  worker_->DelayScores(std::chrono::milliseconds(700));
  for (const auto& [path, body] : std::initializer_list<std::pair<const char*, Json>>{
           {"/v1/completions",
            {{"prompt", {"one two three", "four five six"}}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}}},
           {"/v1/completions", {{"prompt", "one two three"}, {"max_tokens", 4}, {"echo", true}, {"logprobs", 1}}},
           {"/generate",
            {{"text", "one two three"},
             {"sampling_params", {{"max_new_tokens", 4}}},
             {"return_logprob", true},
             {"logprob_start_len", 0}}}}) {
    const HttpReply reply = Post(path, body);
    EXPECT_EQ(reply.status, 504) << reply.body;
    EXPECT_NE(reply.body.find("--request-timeout"), std::string::npos) << reply.body;
  }
}

TEST_F(Lifecycle, ARequestThatTakesTooLongNamesTheOption) {
  director_ = [](const engine::GenerateSpec&) {
    Script script = Saying("one two");
    script.hang_at_end = true;
    return script;
  };
  config_.request_timeout = std::chrono::milliseconds(200);
  Start();
  const HttpReply reply = Post("/v1/chat/completions", Chat("Hi"));
  EXPECT_EQ(reply.status, 504);
  const Json error = Json::parse(reply.body)["error"];
  EXPECT_EQ(error["code"], "timeout");
  EXPECT_NE(error["message"].get<std::string>().find("--request-timeout"), std::string::npos) << error;
}

TEST_F(Lifecycle, DrainLetsRunningStreamsEnd) {
  std::atomic<bool> go_on{false};
  director_ = [&](const engine::GenerateSpec&) {
    while (!go_on) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return Saying("a</think>done");
  };
  Start();
  HttpProbe probe(port());
  probe.Send(ChatText(Chat("Hi")));
  ASSERT_TRUE(Eventually([this] { return worker_->running() == 1; }));
  std::thread drain([this] { gateway_->Drain(); });
  EXPECT_TRUE(Eventually([this] { return Get("/health").status == 503; }));
  EXPECT_EQ(Json::parse(Get("/health").body)["state"], "draining");
  EXPECT_EQ(Post("/v1/chat/completions", Chat("Hi")).status, 503);
  EXPECT_EQ(Get("/v1/models").status, 503);
  EXPECT_EQ(Get("/health/live").status, 200);
  go_on = true;
  const HttpReply reply = probe.Receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find("done"), std::string::npos);
  drain.join();
}

TEST_F(Lifecycle, AnswersThatDrainingDoesNotWaitForEndWithAnError) {
  director_ = [](const engine::GenerateSpec&) {
    Script script = Saying("a</think>one two");
    script.hang_at_end = true;
    return script;
  };
  config_.drain_timeout = std::chrono::seconds(2);
  Start();
  HttpProbe whole(port()), streamed(port());
  whole.Send(ChatText(Chat("Hi")));
  Json request = Chat("Hi");
  request["stream"] = true;
  streamed.Send(ChatText(request));
  ASSERT_TRUE(Eventually([this] { return worker_->running() == 2; }));
  gateway_->Drain();
  const HttpReply answer = whole.Receive();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("the gateway is stopping"), std::string::npos) << answer.body;
  const HttpReply events = streamed.Receive();
  EXPECT_EQ(events.status, 200);
  const size_t error = events.body.find("the gateway is stopping");
  ASSERT_NE(error, std::string::npos) << events.body;
  EXPECT_NE(events.body.find("[DONE]", error), std::string::npos) << events.body;
}

TEST_F(Lifecycle, PromptsBeyondTheContextAreRefusedWithBothNumbers) {
  Start();
  worker_->SetMaxModelLen(20);
  ASSERT_TRUE(Eventually([this] { return Json::parse(Get("/health").body)["max_model_len"] == 20; }));
  const HttpReply reply = Post("/v1/chat/completions", Chat(std::string(200, 'a') + " long words that go on"));
  EXPECT_EQ(reply.status, 400);
  const Json error = Json::parse(reply.body)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_NE(error["message"].get<std::string>().find("20"), std::string::npos);
  EXPECT_TRUE(worker_->seen().empty());
  Json fits = Chat("a");
  fits["max_tokens"] = 1000;
  EXPECT_EQ(Post("/v1/chat/completions", fits).status, 200);
  EXPECT_EQ(worker_->seen().at(0).max_tokens, 20 - worker_->seen().at(0).prompt_ids.size());
}

TEST_F(Lifecycle, ModelNames) {
  Start();
  Json request = Chat("Hi");
  for (const char* name : {"hearth-tiny", "glm-5.3-flash"}) {
    request["model"] = name;
    EXPECT_EQ(Post("/v1/chat/completions", request).status, 200);
  }
  request["model"] = "gpt-9";
  const HttpReply reply = Post("/v1/chat/completions", request);
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(Json::parse(reply.body)["error"]["param"], "model");
  const Json models = Json::parse(Get("/v1/models").body);
  EXPECT_EQ(models["data"][0]["id"], "glm-5.3-flash");
  EXPECT_EQ(models["data"][0]["max_model_len"], 8192);
}

TEST_F(Lifecycle, OneModelByItsName) {
  config_.served_name = {"org/one", "two"};
  Start();
  const Json listed = Json::parse(Get("/v1/models").body)["data"];
  EXPECT_EQ(Json::parse(Get("/v1/models/org/one").body), listed.at(0));
  EXPECT_EQ(Json::parse(Get("/v1/models/org%2Fone").body), listed.at(0));
  EXPECT_EQ(Json::parse(Get("/v1/models/two").body), listed.at(1));
  EXPECT_EQ(Json::parse(Get("/v1/models/hearth-tiny").body)["id"], "hearth-tiny");
  for (const std::string name : {"nope", "org", "one", "two/", "two/more"}) {
    const HttpReply reply = Get("/v1/models/" + name);
    EXPECT_EQ(reply.status, 404) << name;
    const Json error = Json::parse(reply.body)["error"];
    EXPECT_EQ(error["code"], "model_not_found") << name;
    EXPECT_EQ(error["type"], "invalid_request_error") << name;
    EXPECT_NE(error["message"].get<std::string>().find(name), std::string::npos) << error;
  }
  EXPECT_EQ(Json::parse(Get("/v1/models/").body)["error"]["code"], "not_found");
  EXPECT_EQ(Post("/v1/models/two", "{}").status, 405);
  worker_->SetState(engine::WorkerState::kLoading, 0.25);
  ASSERT_TRUE(Eventually([this] { return Get("/v1/models").status == 503; }));
  for (const char* name : {"two", "nope"}) EXPECT_EQ(Get(std::string("/v1/models/") + name).status, 503) << name;
}

}  // namespace
}  // namespace hearth::test
