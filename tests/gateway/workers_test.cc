// Several workers behind one gateway, and the decisions about them.
#include <set>

#include "gateway/worker_client/stats_sum.h"
#include "gateway/worker_client/worker_choice.h"
#include "tests/gateway/running_gateway.h"

namespace hearth::test {
namespace {

using engine::PickWorker;
using engine::WorkerState;
using engine::WorkerView;

std::shared_ptr<const WorkerView> View(bool answers, WorkerState state, const std::string& fingerprint = "f",
                                       uint32_t context = 100) {
  WorkerView view{.answers = answers};
  view.info.state = state;
  view.info.fingerprint = fingerprint;
  view.info.max_model_len = context;
  return std::make_shared<WorkerView>(view);
}

TEST(WorkerChoice, SessionsKeepTheirWorkerAndSpreadEvenly) {
  const std::vector<std::string> targets = {"a:1", "b:1", "c:1"};
  const auto pick = [&](int session, const std::vector<bool>& usable) {
    return *PickWorker("session " + std::to_string(session), targets, usable);
  };
  std::vector<int> shares(3), moved(3);
  for (int i = 0; i < 3000; ++i) {
    const size_t all = pick(i, {true, true, true});
    ++shares[all];
    const size_t without_b = pick(i, {true, false, true});
    if (all == 1) {
      ++moved[without_b];
    } else {
      ASSERT_EQ(without_b, all) << "a session of a living worker moved";
    }
  }
  // 1000 each in the mean, with a standard deviation of 26.
  for (const int share : shares) EXPECT_NEAR(share, 1000, 130);
  // The lost worker's sessions go to both others.
  EXPECT_NEAR(moved[0], shares[1] / 2, 90);
  EXPECT_NEAR(moved[2], shares[1] / 2, 90);
  EXPECT_EQ(PickWorker("x", targets, {false, false, false}), std::nullopt);
  EXPECT_EQ(PickWorker("x", {"only:1"}, {true}), 0u);
}

TEST(WorkerChoice, OnlyReadyWorkersWithTheSameModelServe) {
  const engine::WorkerViews views = {
      View(false, WorkerState::kReady), View(true, WorkerState::kLoading), View(true, WorkerState::kReady, "f", 90),
      View(true, WorkerState::kReady, "other", 10), View(true, WorkerState::kReady, "f", 80)};
  EXPECT_EQ(engine::ServingWorkers(views), (std::vector<bool>{false, false, true, false, true}));
  EXPECT_TRUE(engine::CombinedView(views)->ready());
  EXPECT_EQ(engine::CombinedView(views)->info.max_model_len, 80u);
}

TEST(WorkerChoice, TheViewOfNoneServingIsTheNearestToServing) {
  const auto state = [](const engine::WorkerViews& views) {
    return std::string(engine::StateWord(*engine::CombinedView(views)));
  };
  const auto down = View(false, WorkerState::kReady), unknown = View(true, WorkerState::kUnknown),
             draining = View(true, WorkerState::kDraining), loading = View(true, WorkerState::kLoading);
  EXPECT_EQ(state({down, down}), "worker_down");
  EXPECT_EQ(state({down, unknown}), "worker_down");
  EXPECT_EQ(state({unknown, draining, down}), "draining");
  EXPECT_EQ(state({draining, loading}), "loading");
}

TEST(WorkerChoice, APromptsSessionIsItsBeginning) {
  std::vector<int32_t> shorter(256, 7), longer(300, 7), other(256, 7);
  other[255] = 8;
  EXPECT_EQ(engine::PromptSession(shorter), engine::PromptSession(longer));
  EXPECT_NE(engine::PromptSession(shorter), engine::PromptSession(other));
  EXPECT_NE(engine::PromptSession({1, 2}), engine::PromptSession({1, 3}));
}

TEST(StatsSum, AddsCountersAndWeighsTheWait) {
  engine::EngineStats a, b;
  a.requests_total = 3, b.requests_total = 4;
  a.cache.hits = 10, b.cache.hits = 5;
  a.lane_picks.cpu = 1, b.lane_picks.cpu = 2;
  a.kv_tokens_total = 100, b.kv_tokens_total = 50;
  a.cpu_tier.up = b.cpu_tier.up = true;
  a.cpu_tier.jobs = 3, a.cpu_tier.wait_ms_per_job = 1;
  b.cpu_tier.jobs = 1, b.cpu_tier.wait_ms_per_job = 5;
  const engine::EngineStats sum = engine::SumStats({a, b});
  EXPECT_EQ(sum.requests_total, 7u);
  EXPECT_EQ(sum.cache.hits, 15u);
  EXPECT_EQ(sum.lane_picks.cpu, 3u);
  EXPECT_EQ(sum.kv_tokens_total, 150u);
  EXPECT_EQ(sum.cpu_tier.jobs, 4u);
  EXPECT_DOUBLE_EQ(sum.cpu_tier.wait_ms_per_job, 2);
  EXPECT_TRUE(sum.cpu_tier.up);
  b.cpu_tier.up = false;
  EXPECT_FALSE(engine::SumStats({a, b}).cpu_tier.up);
}

class TwoWorkers : public RunningGateway {
 protected:
  TwoWorkers() {
    for (auto& worker : workers_) worker = NewWorker("127.0.0.1:0");
    config_.worker = {workers_[0]->address(), workers_[1]->address()};
  }

  std::unique_ptr<FakeWorker> NewWorker(const std::string& address) {
    return std::make_unique<FakeWorker>([this](const engine::GenerateSpec& spec) { return director_(spec); }, kModelDir,
                                        address);
  }

  void StartBoth() {
    gateway_ = std::make_unique<Gateway>(config_);
    ASSERT_TRUE(Eventually([this] { return Serving() == 2; }));
  }

  int Serving() {
    const Json health = Json::parse(Get("/health").body);
    int serving = 0;
    for (const Json& worker : health["workers"]) serving += worker["serving"].get<bool>();
    return serving;
  }

  HttpReply PostAs(const std::string& session, const Json& body) {
    return Fetch(port(), "POST", "/v1/chat/completions", body.dump(), {"x-session-id: " + session});
  }

  // A session whose requests go to this worker.
  std::string SessionOf(size_t worker) const {
    for (int i = 0;; ++i) {
      const std::string session = "s" + std::to_string(i);
      if (PickWorker(session, config_.worker, {true, true}) == worker) return session;
    }
  }

  std::unique_ptr<FakeWorker> workers_[2];
};

TEST_F(TwoWorkers, SessionsAreSplitAndStay) {
  StartBoth();
  for (const size_t worker : {size_t{0}, size_t{1}}) {
    const std::string session = SessionOf(worker);
    const size_t before = workers_[worker]->seen().size();
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(PostAs(session, Chat("turn " + std::to_string(i))).status, 200);
    }
    for (const char* field : {"prompt_cache_key", "user"}) {
      Json body = Chat(std::string("by ") + field);
      body[field] = session;
      ASSERT_EQ(Post("/v1/chat/completions", body).status, 200);
    }
    Json completion = {{"prompt", "x"}, {"user", session}, {"max_tokens", 4}};
    ASSERT_EQ(Post("/v1/completions", completion).status, 200);
    EXPECT_EQ(workers_[worker]->seen().size(), before + 6);
  }
  // Without a name the prompt decides: many prompts reach both.
  const size_t before[2] = {workers_[0]->seen().size(), workers_[1]->seen().size()};
  for (int i = 0; i < 24; ++i) ASSERT_EQ(Post("/v1/chat/completions", Chat("prompt " + std::to_string(i))).status, 200);
  EXPECT_GT(workers_[0]->seen().size(), before[0]);
  EXPECT_GT(workers_[1]->seen().size(), before[1]);
}

TEST_F(TwoWorkers, ADeadWorkersShareMovesAndItsStreamsEndWithAnError) {
  director_ = [](const engine::GenerateSpec& spec) {
    Script script = Saying("x</think>one two");
    script.hang_at_end = spec.max_tokens == 77u;
    return script;
  };
  StartBoth();
  const std::string doomed = SessionOf(1), safe = SessionOf(0);
  Json hanging = Chat("Hi");
  hanging["stream"] = true;
  hanging["max_tokens"] = 77;
  const std::string text = hanging.dump();
  HttpProbe probe(port());
  probe.Send("POST /v1/chat/completions HTTP/1.1\r\nx-session-id: " + doomed +
             "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" +
             text);
  ASSERT_TRUE(Eventually([this] { return workers_[1]->running() == 1; }));
  workers_[1].reset();
  // Before the monitor has seen it and after: no request is lost.
  for (int i = 0; i < 5; ++i) EXPECT_EQ(PostAs(doomed, Chat("moved")).status, 200);
  const std::vector<std::string> events = EventData(probe.Receive().body);
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(Json::parse(events.at(events.size() - 2))["error"]["type"], "server_error");
  EXPECT_EQ(events.back(), "[DONE]");

  ASSERT_TRUE(Eventually([this] { return Serving() == 1; }));
  const Json health = Json::parse(Get("/health").body);
  EXPECT_EQ(health["ok"], true);
  EXPECT_EQ(health["workers"][0]["state"], "ready");
  EXPECT_EQ(health["workers"][1]["state"], "worker_down");
  EXPECT_EQ(health["workers"][1]["worker"], config_.worker[1]);
  EXPECT_EQ(PostAs(doomed, Chat("still there")).status, 200);
  EXPECT_EQ(PostAs(safe, Chat("never moved")).status, 200);
  const auto up = [this](size_t worker, const std::string& value) {
    return Get("/metrics").body.find("hearth_worker_up{worker=\"" + config_.worker[worker] + "\"} " + value) !=
           std::string::npos;
  };
  EXPECT_TRUE(up(0, "1"));
  EXPECT_TRUE(Eventually([&] { return up(1, "0"); }));
  EXPECT_EQ(Json::parse(Get("/stats").body)["requests"], 11);

  workers_[1] = NewWorker(config_.worker[1]);
  ASSERT_TRUE(Eventually([this] { return Serving() == 2; }));
  EXPECT_EQ(PostAs(doomed, Chat("back home")).status, 200);
  EXPECT_EQ(workers_[1]->seen().size(), 1u);
  workers_[0].reset();
  workers_[1].reset();
  EXPECT_TRUE(Eventually([this] { return Get("/health").status == 503; }));
  EXPECT_EQ(PostAs(doomed, Chat("nobody")).status, 503);
}

TEST_F(TwoWorkers, InfoRoutesSumAndList) {
  StartBoth();
  const Json stats = Json::parse(Get("/stats").body);
  EXPECT_EQ(stats["requests"], 22);
  EXPECT_EQ(stats["expert_cache"]["slots"], 16);
  EXPECT_EQ(stats["expert_cache"]["hit_rate"], 0.75);
  ASSERT_EQ(stats["workers"].size(), 2u);
  EXPECT_EQ(stats["workers"][1]["worker"], config_.worker[1]);
  EXPECT_EQ(stats["workers"][1]["requests"], 11);
  workers_[1]->SetMaxModelLen(64);
  EXPECT_TRUE(Eventually([this] { return Json::parse(Get("/v1/models").body)["data"][0]["max_model_len"] == 64; }));
  EXPECT_EQ(Json::parse(Get("/server_info").body)["workers"].size(), 2u);
}

TEST_F(TwoWorkers, ADrainingWorkerGetsNothingNew) {
  StartBoth();
  workers_[0]->SetState(WorkerState::kDraining);
  ASSERT_TRUE(Eventually([this] { return Serving() == 1; }));
  EXPECT_EQ(PostAs(SessionOf(0), Chat("Hi")).status, 200);
  EXPECT_TRUE(workers_[0]->seen().empty());
  EXPECT_EQ(workers_[1]->seen().size(), 1u);
}

// One name for all workers: its addresses are taken in turn. Here the name has one address.
class NamedWorkers : public RunningGateway {};

TEST_F(NamedWorkers, ANameIsResolvedAndServes) {
  worker_ = std::make_unique<FakeWorker>(director_, kModelDir);
  const std::string port_text = worker_->address().substr(worker_->address().rfind(':') + 1);
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    config_.worker = {"dns:///" + host + ":" + port_text};
    gateway_ = std::make_unique<Gateway>(config_);
    ASSERT_TRUE(Eventually([this] { return Get("/health").status == 200; })) << host;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Post("/v1/chat/completions", Chat("Hi")).status, 200) << host;
    EXPECT_NE(Get("/metrics").body.find("hearth_worker_up{worker=\"" + config_.worker[0] + "\"} 1"), std::string::npos);
    gateway_.reset();
  }
  EXPECT_EQ(worker_->seen().size(), 6u);
}

class KeepAlive : public RunningGateway {};

TEST_F(KeepAlive, SilentStreamsGetComments) {
  config_.keep_alive = std::chrono::milliseconds(30);
  Script script = Saying("x</think>late");
  director_ = [&](const engine::GenerateSpec&) { return script; };
  Start();
  for (const uint32_t queue_position : {0u, 5u}) {  // prefill, queue
    script.queue_position = queue_position;
    script.before_first = std::chrono::milliseconds(400);
    for (const char* path : {"/v1/chat/completions", "/v1/completions", "/generate"}) {
      Json body = std::string(path) == "/v1/chat/completions" ? Chat("Hi")
                  : std::string(path) == "/generate"          ? Json{{"text", "Hi"}}
                                                              : Json{{"prompt", "Hi"}};
      body["stream"] = true;
      const HttpReply reply = Post(path, body);
      EXPECT_EQ(reply.status, 200) << path;
      const size_t comment = reply.body.find(": waiting\n\n");
      ASSERT_NE(comment, std::string::npos) << path;
      EXPECT_LT(comment, reply.body.find("late"));
      EXPECT_NE(reply.body.find(": waiting\n\n", comment + 1), std::string::npos) << path;
      EXPECT_EQ(EventData(reply.body).back(), "[DONE]");
    }
  }
  // A stream that is not silent for so long has none.
  script.before_first = std::chrono::milliseconds(0);
  gateway_.reset();
  config_.keep_alive = std::chrono::minutes(10);
  Start();
  Json body = Chat("Hi");
  body["stream"] = true;
  EXPECT_EQ(Post("/v1/chat/completions", body).body.find("waiting"), std::string::npos);
}

}  // namespace
}  // namespace hearth::test
