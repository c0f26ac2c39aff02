#include "gpu_worker/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <set>

#include "gpu_worker/scheduler/log_probs.h"
#include "tests/gpu_worker/scheduler/expected.h"
#include "tests/gpu_worker/scheduler/fake_engine.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

class SchedulerTest : public testing::Test {
 protected:
  void Start(FakeEngine::Shape shape = {}, size_t queue = 256, size_t paused_bytes = 1 << 20) {
    shape_ = shape;
    engine_ = std::make_unique<FakeEngine>(shape);
    queue_ = std::make_unique<RequestQueue>(queue);
    Scheduler::Options options;
    options.now = [this] { return now_; };
    options.paused_bytes_max = paused_bytes;
    scheduler_ = std::make_unique<Scheduler>(*engine_, *queue_, observer_, options, [this](Request&) { ++ended_; });
  }
  std::shared_ptr<Request> Submit(RequestSpec spec) {
    auto request = std::make_shared<Request>(std::move(spec));
    request->submitted = now_;
    EXPECT_TRUE(queue_->Push(request).ok());
    return request;
  }
  void RunDry() {
    while (scheduler_->RunOnce()) {
    }
  }
  // Runs until `count` outputs are in the outbox.
  void RunUntil(Request& request, size_t count) {
    while (request.outbox.size() < count) ASSERT_TRUE(scheduler_->RunOnce());
  }
  static Received Drain(Request& request) {
    Received received;
    received.TakeAll(request.outbox);
    return received;
  }
  void ExpectNothingLeft() {
    EXPECT_FALSE(engine_->holds_chunk());
    EXPECT_EQ(engine_->free_slots(), shape_.slots);
    EXPECT_EQ(engine_->free_tokens(), engine_->total_tokens());
    EXPECT_EQ(scheduler_->counts().admitted, 0);
    EXPECT_EQ(scheduler_->counts().paused, 0);
    EXPECT_EQ(queue_->size(), 0u);
  }

  Deadline::Clock::time_point now_ = Deadline::Clock::now();
  FakeEngine::Shape shape_;
  struct CountingObserver : LoopObserver {
    void Ended(const RequestSpec&, const Outcome&) override { ++ended; }
    int ended = 0;
  } observer_;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<RequestQueue> queue_;
  std::unique_ptr<Scheduler> scheduler_;
  int ended_ = 0;
};

TEST_F(SchedulerTest, GeneratesGreedilyAcrossChunks) {
  Start();
  for (int64_t prompt : {1, 63, 64, 65, 200}) {
    const auto request = Submit(Greedy(Tokens(prompt, 1), 20));
    RunDry();
    const Received got = Drain(*request);
    EXPECT_EQ(got.tokens, GreedyTokens(request->spec, shape_.vocab)) << prompt;
    EXPECT_EQ(got.outcomes, 1);
    EXPECT_EQ(got.outcome.reason, FinishReason::kLength);
    EXPECT_EQ(got.outcome.usage.completion_tokens, 20);
    EXPECT_EQ(got.outcome.usage.prompt_tokens, prompt);
  }
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, StopsAtAStopIdAndKeepsItOutOfTheTokens) {
  Start();
  const auto free_running = GreedyTokens(Greedy(Tokens(10, 3), 12), shape_.vocab);
  const auto request = Submit(Greedy(Tokens(10, 3), 12, {free_running[5]}));
  RunDry();
  const Received got = Drain(*request);
  EXPECT_EQ(got.tokens, GreedyTokens(request->spec, shape_.vocab));
  EXPECT_LE(got.tokens.size(), 5u);
  EXPECT_EQ(got.outcome.reason, FinishReason::kStop);
  EXPECT_EQ(got.outcome.stop_id, free_running[5]);
  EXPECT_EQ(got.outcome.usage.completion_tokens, static_cast<int64_t>(got.tokens.size()) + 1);
}

TEST_F(SchedulerTest, ForcesIdsAfterTheBudgetUnlessSeen) {
  Start();
  RequestSpec spec = Greedy(Tokens(10, 3), 8);
  const auto free_running = GreedyTokens(spec, shape_.vocab);
  std::get<GenerateSpec>(spec.kind).forced_after = ForcedAfter{.n_tokens = 3, .ids = {39, 38}};
  auto request = Submit(spec);
  RunDry();
  std::vector<int32_t> tokens = Drain(*request).tokens;
  ASSERT_EQ(tokens.size(), 8u);
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.begin() + 3, free_running.begin()));
  EXPECT_EQ(tokens[3], 39);
  EXPECT_EQ(tokens[4], 38);
  std::vector<int32_t> so_far = spec.tokens;
  so_far.insert(so_far.end(), tokens.begin(), tokens.begin() + 5);
  EXPECT_EQ(tokens[5], GreedyTokens(Greedy(so_far, 1), shape_.vocab)[0]);

  std::get<GenerateSpec>(spec.kind).forced_after->unless_seen = free_running[1];
  request = Submit(spec);
  RunDry();
  EXPECT_EQ(Drain(*request).tokens, free_running);
}

TEST_F(SchedulerTest, ScoresTheSameRowsOnBothPaths) {
  Start();
  const auto ids = Tokens(150, 8);
  for (int64_t first_row : {0, 63, 100, 149}) {
    for (int64_t decode_from : {150, 149, 100, 64, 1}) {
      const auto request =
          Submit(Scored(ids, {.first_row = first_row, .top_k = 3, .chosen = {5, 2}, .decode_from = decode_from}));
      RunDry();
      const Received got = Drain(*request);
      ASSERT_TRUE(got.outcome.status.ok());
      ASSERT_EQ(got.rows.size(), static_cast<size_t>(150 - first_row));
      for (size_t i = 0; i < got.rows.size(); ++i) {
        const size_t row = static_cast<size_t>(first_row) + i;
        std::vector<float> logits(static_cast<size_t>(shape_.vocab));
        FakeEngine::Logits(StateAfter(std::span(ids).first(row + 1)), logits);
        const RowLogProbs expected(logits);
        ASSERT_EQ(got.rows[i].row, static_cast<int64_t>(row));
        EXPECT_EQ(got.rows[i].top, expected.Top(3));
        EXPECT_EQ(got.rows[i].chosen[1].logprob, expected.Of(2));
        EXPECT_EQ(got.rows[i].logits_hash, LogitsHash(logits));
        EXPECT_EQ(got.rows[i].next_logprob.has_value(), row + 1 < ids.size());
        if (row + 1 < ids.size()) {
          EXPECT_EQ(*got.rows[i].next_logprob, expected.Of(ids[row + 1]));
        }
      }
    }
  }
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, DecodesBetweenLayersOnceThePrefillTimeIsOver) {
  Start({.pool_tokens = 4096, .chunk_size = 1024, .layers = 20});
  const auto stream = Submit(Greedy(Tokens(5, 1), 1000));
  RunUntil(*stream, 3);
  int layers = 0;
  std::vector<int> layers_between;
  engine_->on_layer = [&] { now_ += 100ms, ++layers; };
  engine_->on_decode = [&](auto) { layers_between.push_back(std::exchange(layers, 0)); };
  const auto prompt = Submit(Greedy(Tokens(900, 2), 1));
  RunUntil(*prompt, 1);
  // 250 ms of prefill are reached with the third layer.
  ASSERT_EQ(layers_between.size(), 6u);
  for (int between : layers_between) EXPECT_EQ(between, 3);
}

TEST_F(SchedulerTest, PromptsTakeTurnsChunkByChunk) {
  Start();
  const auto long_prompt = Submit(Greedy(Tokens(640, 1), 1));
  const auto short_prompt = Submit(Greedy(Tokens(10, 2), 1));
  RunUntil(*short_prompt, 1);
  EXPECT_EQ(long_prompt->outbox.size(), 0u) << "the short one must not wait for all ten chunks";
  RunDry();
  EXPECT_EQ(Drain(*long_prompt).tokens, GreedyTokens(long_prompt->spec, shape_.vocab));
}

TEST_F(SchedulerTest, MoreStreamsThanRowsShareTheStepsEvenly) {
  Start({.slots = 7, .pool_tokens = 8192, .max_batch_rows = 3});
  std::vector<std::shared_ptr<Request>> requests;
  for (uint64_t i = 0; i < 7; ++i) requests.push_back(Submit(Greedy(Tokens(4, i), 1000)));
  for (const auto& request : requests) RunUntil(*request, 1);
  for (int step = 0; step < 70; ++step) ASSERT_TRUE(scheduler_->RunOnce());
  size_t least = 1000, most = 0;
  for (const auto& request : requests) {
    least = std::min(least, request->outbox.size());
    most = std::max(most, request->outbox.size());
  }
  EXPECT_GE(least, 28u);
  EXPECT_LE(most - least, 3u);
}

TEST_F(SchedulerTest, AdmitsInOrderAndOnlyWithRoomForGrowth) {
  Start({.slots = 4, .pool_tokens = 640});
  const auto first = Submit(Greedy(Tokens(100, 1), 500));   // takes 356
  const auto second = Submit(Greedy(Tokens(100, 2), 500));  // does not fit beside it
  const auto third = Submit(Greedy(Tokens(10, 3), 5));      // would, but must not overtake
  ASSERT_TRUE(scheduler_->RunOnce());
  EXPECT_EQ(scheduler_->counts().admitted, 1);
  EXPECT_EQ(queue_->size(), 2u);
  RunDry();
  for (const auto& request : {first, second, third}) {
    EXPECT_EQ(Drain(*request).tokens, GreedyTokens(request->spec, shape_.vocab));
  }
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, CancellationEndsEveryPhase) {
  Start({.slots = 1});
  const auto running = Submit(Greedy(Tokens(200, 1), 100));
  const auto queued = Submit(Greedy(Tokens(5, 2), 100));
  ASSERT_TRUE(scheduler_->RunOnce());  // one layer of the first
  queued->cancelled = true;
  ASSERT_TRUE(scheduler_->RunOnce());
  EXPECT_EQ(Drain(*queued).outcome.status.code(), StatusCode::kCancelled);

  running->cancelled = true;  // between two layers
  RunDry();
  EXPECT_EQ(Drain(*running).outcome.status.code(), StatusCode::kCancelled);
  ExpectNothingLeft();

  const auto inside = Submit(Greedy(Tokens(200, 1), 100));
  engine_->on_layer = [&] { inside->cancelled = true; };  // within a layer
  RunDry();
  engine_->on_layer = [] {};
  EXPECT_EQ(Drain(*inside).outcome.status.code(), StatusCode::kCancelled);
  ExpectNothingLeft();

  const auto decoding = Submit(Greedy(Tokens(5, 1), 100));
  RunUntil(*decoding, 10);
  decoding->cancelled = true;
  RunDry();
  const Received got = Drain(*decoding);
  EXPECT_EQ(got.tokens.size(), 10u);
  EXPECT_EQ(got.outcome.status.code(), StatusCode::kCancelled);
  EXPECT_EQ(ended_, 4);
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, DeadlinesEndEveryPhase) {
  Start({.slots = 1});
  RequestSpec spec = Greedy(Tokens(200, 1), 1000);
  spec.deadline = Deadline::At(now_ + 1s);
  const auto running = Submit(spec);
  spec.deadline = Deadline::At(now_ + 500ms);
  const auto queued = Submit(spec);
  RunUntil(*running, 3);
  EXPECT_EQ(scheduler_->NextEvent(), now_ + 500ms);
  now_ += 600ms;
  ASSERT_TRUE(scheduler_->RunOnce());
  EXPECT_EQ(Drain(*queued).outcome.status.code(), StatusCode::kDeadlineExceeded);
  now_ += 600ms;
  RunDry();
  EXPECT_EQ(Drain(*running).outcome.status.code(), StatusCode::kDeadlineExceeded);
  spec.deadline = Deadline::At(now_ + 1s);
  const auto inside = Submit(spec);
  engine_->on_layer = [&] { now_ += 2s; };
  RunDry();
  EXPECT_EQ(Drain(*inside).outcome.status.code(), StatusCode::kDeadlineExceeded);
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, APromptThatLeavesBetweenItsChunksLeavesNothingInTheEngine) {
  Start();
  const auto decoding = Submit(Greedy(Tokens(10, 1), 600));
  RunUntil(*decoding, 3);
  engine_->on_layer = [&] { now_ += 300ms; };  // a decode step after each layer, so after each chunk as well
  const auto prompt = Submit(Greedy(Tokens(200, 2), 10));
  const uint64_t before = scheduler_->counts().prompt_tokens;
  while (scheduler_->counts().prompt_tokens == before) ASSERT_TRUE(scheduler_->RunOnce());
  EXPECT_TRUE(engine_->holds_chunk()) << "the next chunk may use it";
  prompt->cancelled = true;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(scheduler_->RunOnce());
  EXPECT_EQ(Drain(*prompt).outcome.status.code(), StatusCode::kCancelled);
  EXPECT_FALSE(engine_->holds_chunk()) << "while others decode";
}

TEST_F(SchedulerTest, ACancellationAtTheDeadlineIsADeadline) {
  Start({.slots = 1});
  const auto end_of = [&](std::chrono::milliseconds left, bool queued) {
    const auto other = queued ? Submit(Greedy(Tokens(5, 2), 1000)) : nullptr;
    if (other) RunUntil(*other, 3);
    RequestSpec spec = Greedy(Tokens(5, 1), 1000);
    spec.deadline = Deadline::At(now_ + left);
    const auto request = Submit(spec);
    if (!queued) RunUntil(*request, 3);
    request->cancelled = true;
    if (other) scheduler_->RunOnce();
    if (other) other->cancelled = true;
    RunDry();
    return Drain(*request).outcome.status.code();
  };
  for (bool queued : {false, true}) {
    EXPECT_EQ(end_of(20ms, queued), StatusCode::kDeadlineExceeded) << queued;
    EXPECT_EQ(end_of(200ms, queued), StatusCode::kCancelled) << queued;
  }
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, AFullOutboxPausesOnlyItsOwnGeneration) {
  Start({.pool_tokens = 8192});
  const auto slow = Submit(Greedy(Tokens(5, 1), 1500));
  RunDry();
  EXPECT_EQ(slow->outbox.size(), Outbox::kCapacity);
  const auto quick = Submit(Greedy(Tokens(5, 2), 50));
  RunDry();
  EXPECT_EQ(Drain(*quick).tokens, GreedyTokens(quick->spec, shape_.vocab));
  Received got = Drain(*slow);
  EXPECT_EQ(got.outcomes, 0);
  RunDry();
  got.TakeAll(slow->outbox);
  EXPECT_EQ(got.tokens, GreedyTokens(slow->spec, shape_.vocab));
  EXPECT_EQ(got.outcomes, 1);
}

TEST_F(SchedulerTest, AReaderThatStopsReadingIsCancelled) {
  Start({.pool_tokens = 8192});
  const auto stuck = Submit(Greedy(Tokens(5, 1), 1500));
  RunDry();
  EXPECT_LE(scheduler_->NextEvent(), stuck->outbox.last_pop() + 10s);
  now_ = stuck->outbox.last_pop() + 9s;
  RunDry();
  EXPECT_EQ(scheduler_->counts().admitted, 1);
  now_ += 2s;
  RunDry();
  EXPECT_EQ(Drain(*stuck).outcome.status.code(), StatusCode::kCancelled);
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, AScoredChunkOfManyMessagesFitsTheOutbox) {
  Start({.slots = 1, .pool_tokens = 1 << 15, .chunk_size = 1 << 14, .vocab = 40});
  const std::vector<int32_t> chosen(16384, 7);  // few rows to a message
  const auto score = Submit(Scored(Tokens(1 << 14, 1), {.top_k = 20, .chosen = chosen, .decode_from = 1 << 14}));
  Received got;
  while (got.outcomes == 0) {
    RunDry();
    EXPECT_LE(score->outbox.size(), Outbox::kCapacity);
    got.TakeAll(score->outbox);
  }
  ASSERT_TRUE(got.outcome.status.ok()) << got.outcome.status.ToString();
  EXPECT_EQ(got.rows.size(), size_t{1} << 14);
}

TEST_F(SchedulerTest, AScoreReaderThatIsSlowHoldsUpNobody) {
  Start({.slots = 2, .pool_tokens = 1 << 17, .chunk_size = 1024});
  const auto score = Submit(Scored(Tokens(60000, 1), {.top_k = 1, .decode_from = 60000}));
  RunDry();
  EXPECT_LE(score->outbox.size(), Outbox::kCapacity);
  const auto quick = Submit(Greedy(Tokens(2000, 2), 10));
  RunDry();
  EXPECT_EQ(Drain(*quick).tokens, GreedyTokens(quick->spec, shape_.vocab));
  Received got;
  while (got.outcomes == 0) {
    got.TakeAll(score->outbox);
    RunDry();
  }
  EXPECT_EQ(got.rows.size(), 60000u);
}

TEST_F(SchedulerTest, PausesTheYoungestWhenPagesRunOutAndResumesItUnchanged) {
  Start({.slots = 4, .pool_tokens = 1280, .page_tokens = 16});
  std::vector<std::shared_ptr<Request>> requests;
  for (uint64_t i = 0; i < 4; ++i)
    requests.push_back(Submit(Greedy(Tokens(40 + 10 * static_cast<int64_t>(i), i), 700)));
  int64_t most_paused = 0;
  while (scheduler_->RunOnce()) most_paused = std::max(most_paused, scheduler_->counts().paused);
  EXPECT_GE(most_paused, 2);
  for (const auto& request : requests) {
    const Received got = Drain(*request);
    ASSERT_TRUE(got.outcome.status.ok()) << got.outcome.status.ToString();
    EXPECT_EQ(got.tokens, GreedyTokens(request->spec, shape_.vocab));
  }
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, EndsTheYoungestHonestlyWhenHostMemoryIsFullToo) {
  Start({.slots = 2, .pool_tokens = 800, .page_tokens = 16}, 256, /*paused_bytes=*/10);
  const auto old = Submit(Greedy(Tokens(40, 1), 700));
  const auto young = Submit(Greedy(Tokens(40, 2), 700));
  RunDry();
  EXPECT_EQ(Drain(*old).tokens, GreedyTokens(old->spec, shape_.vocab));
  const Received got = Drain(*young);
  EXPECT_EQ(got.outcome.status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(got.outcome.status.message().find("--paused-gb"), std::string::npos);
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, AnErrorOfTheEngineEndsThoseItConcerns) {
  Start();
  const auto decoding = Submit(Greedy(Tokens(5, 1), 100));
  RunUntil(*decoding, 3);
  engine_->layer_status = Internal("broken layer");
  const auto prefilling = Submit(Greedy(Tokens(5, 2), 100));
  RunUntil(*prefilling, 1);
  EXPECT_EQ(Drain(*prefilling).outcome.status.message(), "broken layer");
  RunUntil(*decoding, 6);
  engine_->decode_status = Internal("broken step");
  RunDry();
  EXPECT_EQ(Drain(*decoding).outcome.status.message(), "broken step");
  ExpectNothingLeft();
}

TEST_F(SchedulerTest, SampledOutputDoesNotDependOnNeighbours) {
  Start({.slots = 6, .pool_tokens = 4096, .max_batch_rows = 3});
  RequestSpec spec = Greedy(Tokens(100, 4), 60);
  SamplingParams& sampling = std::get<GenerateSpec>(spec.kind).sampling;
  sampling.temperature = 1.2f;
  sampling.top_p = 0.9f;
  sampling.seed = 12;
  sampling.frequency_penalty = 0.5f;
  const auto alone = Submit(spec);
  RunDry();
  const auto expected = Drain(*alone).tokens;
  EXPECT_GT(std::set<int32_t>(expected.begin(), expected.end()).size(), 10u);
  for (uint64_t i = 0; i < 3; ++i) Submit(Greedy(Tokens(70, i), 30));
  const auto beside = Submit(spec);
  for (uint64_t i = 0; i < 3; ++i) Submit(Greedy(Tokens(90, i), 30));
  RunDry();
  EXPECT_EQ(Drain(*beside).tokens, expected);
}

TEST_F(SchedulerTest, TwoThousandRandomRequestsLeaveNothingBehind) {
  Start({.slots = 5, .pool_tokens = 1200, .max_batch_rows = 3}, 64, /*paused_bytes=*/250);
  uint64_t draws = 0;
  const auto random = [&](int64_t limit) {
    return static_cast<int64_t>(UniformAt(42, draws++) * static_cast<double>(limit));
  };
  struct Live {
    std::shared_ptr<Request> request;
    Received received;
    bool reads = true;
  };
  std::vector<Live> live;
  int64_t most_paused = 0;
  int submitted = 0, finished = 0, cancelled = 0, late = 0, exhausted = 0;
  engine_->on_layer = [&] { now_ += 3ms; };
  engine_->on_decode = [&](auto) { now_ += 1ms; };
  while (submitted < 2000 || !live.empty()) {
    if (submitted < 2000 && queue_->size() < 20 && random(3) == 0) {
      RequestSpec spec = Greedy(Tokens(1 + random(300), static_cast<uint64_t>(submitted)), 1 + random(400));
      if (random(4) == 0) {
        const int64_t count = static_cast<int64_t>(spec.tokens.size());
        spec = Scored(spec.tokens, {.first_row = random(count), .top_k = 2, .decode_from = 1 + random(count)});
      }
      if (random(6) == 0) spec.deadline = Deadline::At(now_ + std::chrono::milliseconds(random(3000)));
      live.push_back({.request = Submit(std::move(spec))});
      ++submitted;
    }
    for (int64_t units = random(12); units > 0; --units) scheduler_->RunOnce();
    most_paused = std::max(most_paused, scheduler_->counts().paused);
    if (!live.empty() && random(12) == 0)
      live[static_cast<size_t>(random(static_cast<int64_t>(live.size())))].request->cancelled = true;
    for (Live& one : live) {
      if (random(20) == 0) one.reads = !one.reads;
      if (one.reads) one.received.TakeAll(one.request->outbox);
    }
    std::erase_if(live, [&](Live& one) {
      if (one.received.outcomes == 0) return false;
      const Request& request = *one.request;
      EXPECT_EQ(one.received.outcomes, 1);
      switch (one.received.outcome.status.code()) {
        case StatusCode::kOk:
          ++finished;
          if (request.spec.generate() != nullptr) {
            EXPECT_EQ(one.received.tokens, GreedyTokens(request.spec, shape_.vocab));
          } else {
            EXPECT_EQ(one.received.rows.size(),
                      request.spec.tokens.size() - static_cast<size_t>(request.spec.score()->first_row));
          }
          break;
        case StatusCode::kCancelled:
          EXPECT_TRUE(request.cancelled.load());
          ++cancelled;
          break;
        case StatusCode::kDeadlineExceeded:
          EXPECT_LE(request.spec.deadline.when(), now_);
          ++late;
          break;
        case StatusCode::kResourceExhausted:
          ++exhausted;
          break;
        default:
          ADD_FAILURE() << one.received.outcome.status.ToString();
      }
      return true;
    });
  }
  RunDry();
  EXPECT_EQ(ended_, 2000);
  EXPECT_EQ(observer_.ended, 2000);
  EXPECT_EQ(finished + cancelled + late + exhausted, 2000);
  EXPECT_GT(finished, 200);
  EXPECT_GT(cancelled, 100);
  EXPECT_GT(late, 20);
  EXPECT_GT(exhausted, 0);
  EXPECT_GT(most_paused, 0);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace hearth
