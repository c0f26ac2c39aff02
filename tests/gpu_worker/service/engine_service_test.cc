#include "gpu_worker/service/engine_service.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <thread>

#include "common/rpc/channel.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/status_map.h"
#include "tests/gpu_worker/scheduler/expected.h"
#include "tests/gpu_worker/scheduler/fake_engine.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

class EngineServiceTest : public testing::Test {
 protected:
  EngineServiceTest() : server_({.listen = "127.0.0.1:0"}, {&service_}) {
    stub_ = v1::Engine::NewStub(MakeChannel("127.0.0.1:" + std::to_string(server_.port())));
  }
  ~EngineServiceTest() override {
    Open();
    if (loop_ != nullptr) loop_->Stop();
    server_.Shutdown(Deadline::After(5s));
  }

  void Ready(FakeEngine::Shape shape = {.pool_tokens = 8192}, size_t queue = 8) {
    shape_ = shape;
    engine_ = std::make_unique<FakeEngine>(shape);
    engine_->on_layer = [this] { Pass(); };
    StepLoop::Options options;
    options.queue_capacity = queue;
    loop_ = std::make_unique<StepLoop>(*engine_, observer_, options);
    EngineParts parts;
    parts.loop = loop_.get();
    parts.write_timeout = write_timeout_;
    parts.limits = {.vocab_size = shape.vocab, .context = 4000};
    parts.info.set_mode("exact");
    parts.deterministic = [] { return true; };
    parts.verify = [this](uint32_t samples, SlotCheck& check) {
      ++verify_parts_;
      check.different = 1;
      return verify_for_ever_ || ++check.compared < samples;
    };
    state_.Ready(std::move(parts));
  }

  // While closed, the step thread waits at the next layer.
  void Close() {
    std::lock_guard lock(gate_mutex_);
    open_ = false;
  }
  void Open() {
    std::lock_guard lock(gate_mutex_);
    open_ = true;
    gate_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(gate_mutex_);
    at_gate_ = true;
    gate_.notify_all();
    gate_.wait_for(lock, 30s, [this] { return open_; });
  }
  void AwaitGate() {
    std::unique_lock lock(gate_mutex_);
    ASSERT_TRUE(gate_.wait_for(lock, 30s, [this] { return at_gate_; }));
  }

  static v1::GenerateRequest Prompt(const std::vector<int32_t>& tokens, uint32_t max_tokens) {
    v1::GenerateRequest request;
    for (int32_t token : tokens) request.add_prompt_ids(token);
    request.set_max_tokens(max_tokens);
    request.set_top_logprobs(-1);
    request.mutable_sampling()->set_temperature(0);
    return request;
  }
  struct Answer {
    grpc::Status status;
    std::vector<v1::GenerateResponse> messages;
    std::vector<int32_t> tokens;
  };
  Answer Generate(const v1::GenerateRequest& request, Deadline::Clock::duration timeout = 30s) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    Answer answer;
    auto stream = stub_->Generate(&context, request);
    v1::GenerateResponse message;
    while (stream->Read(&message)) {
      answer.messages.push_back(message);
      for (const auto& token : message.tokens().tokens()) answer.tokens.push_back(token.id());
    }
    answer.status = stream->Finish();
    return answer;
  }

  class VerifyCall {
   public:
    VerifyCall(v1::Engine::Stub& stub, Deadline::Clock::duration timeout) {
      context_.set_deadline(std::chrono::system_clock::now() + timeout);
      thread_ = std::thread([this, &stub] { status_ = stub.Verify(&context_, {}, &response_); });
    }
    ~VerifyCall() {
      Cancel();
      if (thread_.joinable()) thread_.join();
    }
    void Cancel() { context_.TryCancel(); }
    grpc::Status Await() {
      thread_.join();
      return status_;
    }

   private:
    grpc::ClientContext context_;
    v1::VerifyResponse response_;
    grpc::Status status_;
    std::thread thread_;
  };
  static bool Await(const std::function<bool()>& condition) {
    for (const Deadline watchdog = Deadline::After(30s); !watchdog.Passed(); std::this_thread::yield()) {
      if (condition()) return true;
    }
    return false;
  }
  bool AwaitVerifyPart() {
    return Await([this] { return verify_parts_ > 0; });
  }
  // A comparison that goes on adds a part between any two tasks that are posted one after the other.
  bool AwaitNoMoreVerifyParts() {
    return Await([this] {
      const int before = PartsAtTheNextTask();
      return PartsAtTheNextTask() == before && PartsAtTheNextTask() == before;
    });
  }
  int PartsAtTheNextTask() {
    std::promise<int> parts;
    if (!loop_->Post([&] { parts.set_value(verify_parts_); })) return -1;
    return parts.get_future().get();
  }

  std::atomic<int> verify_parts_ = 0;
  std::atomic<bool> verify_for_ever_ = false;
  EngineState state_;
  EngineService service_{state_};
  RpcServer server_;
  std::unique_ptr<v1::Engine::Stub> stub_;
  class Observer final : public LoopObserver {
   public:
    void NotRead(const RequestSpec&) override { ++not_read; }
    void Failed(StatusCode code, RequestPhase) override { cancelled += code == StatusCode::kCancelled ? 1 : 0; }
    std::atomic<int> not_read = 0, cancelled = 0;
  };
  // A client whose flow control lets 64 KiB through unread; others find out that the path takes megabytes.
  std::unique_ptr<v1::Engine::Stub> StubWithSmallWindow() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return v1::Engine::NewStub(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_.port()),
                                                         grpc::InsecureChannelCredentials(), arguments));
  }
  // Fits the outbox, but not such a window.
  static v1::GenerateRequest Long() {
    v1::GenerateRequest request = Prompt({1}, 1000);
    request.set_top_logprobs(40);
    return request;
  }

  std::chrono::milliseconds write_timeout_ = 10s;
  Observer observer_;
  FakeEngine::Shape shape_;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<StepLoop> loop_;

  std::mutex gate_mutex_;
  std::condition_variable gate_;
  bool open_ = true;
  bool at_gate_ = false;
};

TEST_F(EngineServiceTest, TellsOfLoadingAndRefusesRequestsMeanwhile) {
  state_.Progress(30, 100);
  grpc::ClientContext context;
  v1::ModelInfo info;
  ASSERT_TRUE(stub_->GetModelInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.state(), v1::WORKER_STATE_LOADING);
  EXPECT_DOUBLE_EQ(info.load().ratio(), 0.3);
  const Answer answer = Generate(Prompt({1}, 1));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(answer.status.error_message().find("30 %"), std::string::npos);
  EXPECT_TRUE(answer.messages.empty());

  Ready();
  grpc::ClientContext again;
  ASSERT_TRUE(stub_->GetModelInfo(&again, {}, &info).ok());
  EXPECT_EQ(info.state(), v1::WORKER_STATE_READY);
  EXPECT_EQ(info.mode(), "exact");
  EXPECT_EQ(info.load().ratio(), 1);
}

TEST_F(EngineServiceTest, StreamsAcceptedTokensFinished) {
  Ready();
  v1::GenerateRequest request = Prompt(Tokens(100, 1), 30);
  request.set_top_logprobs(3);
  request.set_logits_hash(true);
  request.mutable_sampling()->set_seed(99);
  const Answer answer = Generate(request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  ASSERT_TRUE(answer.messages.front().has_accepted());
  EXPECT_EQ(answer.messages.front().accepted().seed(), 99u);
  EXPECT_EQ(answer.tokens, GreedyTokens(Greedy(Tokens(100, 1), 30), shape_.vocab));
  for (size_t i = 1; i + 1 < answer.messages.size(); ++i) {
    for (const auto& token : answer.messages[i].tokens().tokens()) {
      EXPECT_TRUE(token.has_logprob());
      EXPECT_TRUE(token.has_logits_hash());
      ASSERT_EQ(token.top_size(), 3);
      EXPECT_EQ(token.top(0).id(), token.id());
      EXPECT_EQ(token.top(0).logprob(), token.logprob());
    }
  }
  const v1::Finished& finished = answer.messages.back().finished();
  EXPECT_EQ(finished.reason(), v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(finished.usage().prompt_tokens(), 100u);
  EXPECT_EQ(finished.usage().completion_tokens(), 30u);
  EXPECT_EQ(finished.usage().effective_sampling().seed(), 99u);
  EXPECT_TRUE(finished.usage().deterministic());
  EXPECT_EQ(finished.usage().picks().pcie(), 300u) << "100 rows in each of 3 layers";
  EXPECT_EQ(finished.usage().picks().vram(), 29u * 8);
}

TEST_F(EngineServiceTest, ErrorsHaveCodeAndField) {
  Ready();
  const Answer bad = Generate(Prompt({1, 4711}, 1));
  EXPECT_EQ(bad.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(FromGrpc(bad.status).param(), "prompt_ids");
  EXPECT_EQ(Generate(Prompt(Tokens(4001, 1), 1)).status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::GenerateRequest constrained = Prompt({1}, 1);
  constrained.mutable_constraint()->set_automaton("x");
  EXPECT_EQ(Generate(constrained).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "no vocabulary here";
}

TEST_F(EngineServiceTest, AFullQueueIsRefusedBeforeAnythingIsAccepted) {
  Ready({.slots = 1, .pool_tokens = 8192}, 1);
  Close();
  std::thread running([this] { EXPECT_TRUE(Generate(Prompt({1}, 3)).status.ok()); });
  AwaitGate();
  std::thread queued([this] {
    const Answer answer = Generate(Prompt({2}, 3));
    EXPECT_TRUE(answer.status.ok());
    EXPECT_EQ(answer.messages.front().accepted().queue_position(), 1u);
  });
  while (loop_->stats().waiting < 1) std::this_thread::sleep_for(1ms);
  const Answer refused = Generate(Prompt({3}, 3));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(refused.messages.empty());
  Open();
  running.join();
  queued.join();
}

TEST_F(EngineServiceTest, AClientThatLeavesFreesItsPlaceInEveryPhase) {
  Ready({.slots = 1, .pool_tokens = 8192});
  // Decoding: the client leaves after some tokens.
  {
    grpc::ClientContext context;
    auto stream = stub_->Generate(&context, Prompt({1}, 3900));
    v1::GenerateResponse message;
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(stream->Read(&message));
    context.TryCancel();
    while (stream->Read(&message)) {
    }
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(loop_->WaitIdle(Deadline::After(10s)));
  // Prefill and queue.
  Close();
  grpc::ClientContext running_context, queued_context;
  auto running = stub_->Generate(&running_context, Prompt(Tokens(500, 1), 10));
  v1::GenerateResponse message;
  ASSERT_TRUE(running->Read(&message));
  AwaitGate();
  auto queued = stub_->Generate(&queued_context, Prompt({2}, 10));
  ASSERT_TRUE(queued->Read(&message));
  queued_context.TryCancel();
  EXPECT_EQ(queued->Finish().error_code(), grpc::StatusCode::CANCELLED);
  running_context.TryCancel();
  EXPECT_EQ(running->Finish().error_code(), grpc::StatusCode::CANCELLED) << "the client does not wait for the step";
  Open();
  EXPECT_TRUE(loop_->WaitIdle(Deadline::After(10s)));
  loop_->Stop();
  EXPECT_EQ(engine_->free_slots(), 1);
  EXPECT_EQ(engine_->free_tokens(), engine_->total_tokens());
}

TEST_F(EngineServiceTest, TheClientsDeadlineEndsTheRequest) {
  Ready();
  Close();
  const Answer answer = Generate(Prompt({1}, 100), 200ms);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  Open();
  EXPECT_TRUE(loop_->WaitIdle(Deadline::After(10s)));
}

TEST_F(EngineServiceTest, ASlowReaderLosesNothing) {
  Ready();
  v1::GenerateRequest request = Prompt({1}, 3000);
  request.set_top_logprobs(40);  // more than flow control lets through unread
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 60s);
  auto stream = stub_->Generate(&context, request);
  EXPECT_EQ(Generate(Prompt({2}, 50)).tokens, GreedyTokens(Greedy({2}, 50), shape_.vocab));
  std::this_thread::sleep_for(300ms);
  std::vector<int32_t> tokens;
  v1::GenerateResponse message;
  while (stream->Read(&message)) {
    for (const auto& token : message.tokens().tokens()) tokens.push_back(token.id());
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(tokens, GreedyTokens(Greedy({1}, 3000), shape_.vocab));
}

TEST_F(EngineServiceTest, AReaderThatStaysButDoesNotReadIsCutOffThoughItsRequestHasEnded) {
  write_timeout_ = 300ms;
  Ready();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 60s);
  const auto stub = StubWithSmallWindow();
  auto stream = stub->Generate(&context, Long());
  while (loop_->stats().requests_total < 1) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(loop_->WaitIdle(Deadline::After(20s)));
  EXPECT_TRUE(service_.streams().WaitNone(Deadline::After(10s)));
  EXPECT_EQ(observer_.not_read, 1);
  EXPECT_EQ(observer_.cancelled, 0) << "the request itself was done";
  v1::GenerateResponse message;
  while (stream->Read(&message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(EngineServiceTest, AReaderThatDoesNotReadIsCountedOnceWhileItsRequestRuns) {
  write_timeout_ = 300ms;
  Ready();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 60s);
  v1::GenerateRequest request = Long();
  request.set_max_tokens(3900);
  const auto stub = StubWithSmallWindow();
  auto stream = stub->Generate(&context, request);
  while (loop_->stats().requests_total < 1) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(service_.streams().WaitNone(Deadline::After(20s)));
  EXPECT_TRUE(loop_->WaitIdle(Deadline::After(10s)));
  EXPECT_EQ(observer_.cancelled, 1);
  EXPECT_EQ(observer_.not_read, 0);
}

TEST_F(EngineServiceTest, ScoresInBlocks) {
  Ready();
  const auto ids = Tokens(3500, 4);
  v1::ScoreRequest request;
  for (int32_t id : ids) request.add_ids(id);
  request.set_first_row(10);
  request.set_top_k(2);
  request.set_logits_hash(true);
  for (auto path : {v1::ScoreRequest::PREFILL, v1::ScoreRequest::DECODE}) {
    request.set_path(path);
    request.set_decode_from(path == v1::ScoreRequest::DECODE ? 2000 : 0);
    grpc::ClientContext context;
    auto stream = stub_->Score(&context, request);
    v1::ScoreResponse block;
    size_t row = 10;
    uint64_t state = StateAfter(std::span(ids).first(10));
    std::vector<float> logits(static_cast<size_t>(shape_.vocab));
    while (stream->Read(&block)) {
      EXPECT_LE(block.rows_size(), 1024);
      for (const v1::ScoreRow& got : block.rows()) {
        state = FakeEngine::After(state, ids[row]);
        FakeEngine::Logits(state, logits);
        ASSERT_EQ(got.row(), row);
        ASSERT_EQ(got.logits_hash(), LogitsHash(logits));
        ++row;
      }
    }
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(row, ids.size());
  }
}

TEST_F(EngineServiceTest, DrainWaitsForWhatRuns) {
  Ready();
  Close();
  std::thread running([this] { EXPECT_TRUE(Generate(Prompt({1}, 3)).status.ok()); });
  AwaitGate();
  v1::DrainResponse response;
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 2s);
    ASSERT_TRUE(stub_->Drain(&context, {}, &response).ok()) << "the answer comes before the deadline";
    EXPECT_EQ(response.still_running(), 1u);
  }
  EXPECT_EQ(Generate(Prompt({2}, 3)).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  Open();
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->Drain(&context, {}, &response).ok());
  EXPECT_EQ(response.still_running(), 0u);
  running.join();
}

TEST_F(EngineServiceTest, DrainWaitsForWhatIsNotYetRead) {
  Ready();
  int told = 0;
  state_.OnDraining([&told] { ++told; });
  grpc::ClientContext reader;
  reader.set_deadline(std::chrono::system_clock::now() + 60s);
  const auto stub = StubWithSmallWindow();
  auto stream = stub->Generate(&reader, Long());
  while (loop_->stats().requests_total < 1) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(loop_->WaitIdle(Deadline::After(20s)));
  v1::DrainResponse response;
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 400ms);
    ASSERT_TRUE(stub_->Drain(&context, {}, &response).ok());
    EXPECT_EQ(response.still_running(), 1u);
    EXPECT_EQ(told, 1);
  }
  EXPECT_FALSE(service_.streams().WaitNone(Deadline::After(50ms)));
  v1::GenerateResponse message;
  while (stream->Read(&message)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->Drain(&context, {}, &response).ok());
  EXPECT_EQ(response.still_running(), 0u);
}

TEST_F(EngineServiceTest, VerifyRunsBetweenSteps) {
  Ready();
  v1::VerifyRequest request;
  request.set_samples(12);
  v1::VerifyResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->Verify(&context, request, &response).ok());
  EXPECT_EQ(response.compared(), 12u);
  EXPECT_EQ(response.different(), 1u);
  EXPECT_EQ(verify_parts_, 12);
}

TEST_F(EngineServiceTest, StepsRunBetweenThePartsOfAVerifyAndItsDeadlineEndsThem) {
  verify_for_ever_ = true;
  Ready();
  VerifyCall verify(*stub_, 10s);
  ASSERT_TRUE(AwaitVerifyPart());
  EXPECT_TRUE(Generate(Prompt(Tokens(70, 1), 10)).status.ok()) << "a stream goes on beside it";
  const grpc::Status status = verify.Await();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(AwaitNoMoreVerifyParts());
}

TEST_F(EngineServiceTest, AVerifyWhoseClientHasLeftStops) {
  verify_for_ever_ = true;
  Ready();
  VerifyCall verify(*stub_, 60s);
  ASSERT_TRUE(AwaitVerifyPart());
  verify.Cancel();
  EXPECT_EQ(verify.Await().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(AwaitNoMoreVerifyParts());
}

TEST_F(EngineServiceTest, StatsCount) {
  Ready();
  Generate(Prompt(Tokens(70, 1), 10));
  ASSERT_TRUE(loop_->WaitIdle(Deadline::After(10s)));
  loop_->Stop();
  grpc::ClientContext context;
  v1::EngineStats stats;
  ASSERT_TRUE(stub_->GetStats(&context, {}, &stats).ok());
  EXPECT_EQ(stats.requests_total(), 1u);
  EXPECT_EQ(stats.prompt_tokens_total(), 70u);
  EXPECT_EQ(stats.completion_tokens_total(), 10u);
  EXPECT_EQ(stats.decode_steps(), 9u);
  EXPECT_EQ(stats.requests_running(), 0u);
  EXPECT_EQ(stats.kv_tokens_used(), 0u);
}

TEST_F(EngineServiceTest, ManyStreamsAtOnceThatPartlyLeave) {
  Ready({.slots = 4, .pool_tokens = 4096}, 256);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 15; ++i) {
        const auto prompt = Tokens(1 + (t * 31 + i * 17) % 120, static_cast<uint64_t>(t * 100 + i));
        grpc::ClientContext context;
        auto stream = stub_->Generate(&context, Prompt(prompt, 60));
        std::vector<int32_t> tokens;
        v1::GenerateResponse message;
        const bool leaves = (t + i) % 3 == 0;
        while (stream->Read(&message)) {
          for (const auto& token : message.tokens().tokens()) tokens.push_back(token.id());
          if (leaves && tokens.size() > 3) context.TryCancel();
        }
        const grpc::Status status = stream->Finish();
        if (status.ok()) {
          EXPECT_EQ(tokens, GreedyTokens(Greedy(prompt, 60), shape_.vocab));
        } else {
          EXPECT_TRUE(leaves) << status.error_message();
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(loop_->WaitIdle(Deadline::After(20s)));
  loop_->Stop();
  EXPECT_EQ(engine_->free_slots(), 4);
  EXPECT_EQ(engine_->free_tokens(), engine_->total_tokens());
}

}  // namespace
}  // namespace hearth
