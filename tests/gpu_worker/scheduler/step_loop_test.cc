#include "gpu_worker/scheduler/step_loop.h"

#include <gtest/gtest.h>
#include <time.h>

#include <thread>

#include "tests/gpu_worker/scheduler/expected.h"
#include "tests/gpu_worker/scheduler/fake_engine.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

// Reads a generation to its end. What `ready` touches outlives the reader: the outcome can be read before the call that
// announces it.
class Reader {
 public:
  std::function<void()> Ready() {
    return [news = news_] {
      std::lock_guard lock(news->mutex);
      news->here = true;
      news->cv.notify_one();
    };
  }
  Received ReadAll(Generation& generation) {
    Received received;
    while (received.outcomes == 0) {
      while (auto output = generation.Next()) received.Take(*std::move(output));
      if (received.outcomes > 0) break;
      std::unique_lock lock(news_->mutex);
      if (!news_->cv.wait_for(lock, 30s, [this] { return news_->here; })) {
        ADD_FAILURE() << "no news";
        return received;
      }
      news_->here = false;
    }
    return received;
  }

 private:
  struct News {
    std::mutex mutex;
    std::condition_variable cv;
    bool here = false;
  };
  const std::shared_ptr<News> news_ = std::make_shared<News>();
};

StepLoop::Options WithQueue(size_t capacity) {
  StepLoop::Options options;
  options.queue_capacity = capacity;
  return options;
}

// Holds the step thread inside a layer until it is opened.
class Gate {
 public:
  void Close() {
    std::lock_guard lock(mutex_);
    open_ = false;
  }
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    cv_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    cv_.notify_all();
    cv_.wait_for(lock, 30s, [this] { return open_; });
  }
  void AwaitArrival() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(cv_.wait_for(lock, 30s, [this] { return arrived_ > 0; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable cv_;
  bool open_ = true;
  int arrived_ = 0;
};

TEST(StepLoop, ManyThreadsGetTheirOwnTokens) {
  FakeEngine engine({.slots = 4, .pool_tokens = 2048});
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(64));
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&loop, t] {
      for (uint64_t i = 0; i < 20; ++i) {
        Reader reader;
        const RequestSpec spec = Greedy(Tokens(1 + static_cast<int64_t>((t * 37 + i * 11) % 150), t * 100 + i), 30);
        auto generation = loop.Submit(spec, reader.Ready());
        ASSERT_TRUE(generation.ok());
        EXPECT_EQ(reader.ReadAll(*generation).tokens, GreedyTokens(spec, 40));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(loop.WaitIdle(Deadline::After(10s)));
  loop.Stop();
  EXPECT_EQ(loop.stats().requests_total, 160u);
  EXPECT_EQ(engine.free_slots(), 4);
  EXPECT_EQ(engine.free_tokens(), engine.total_tokens());
}

TEST(StepLoop, AFullQueueRefusesAndPositionsCount) {
  Gate gate;
  FakeEngine engine({.slots = 1});
  engine.on_layer = [&] { gate.Pass(); };
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(2));
  gate.Close();
  Reader reader;
  auto running = loop.Submit(Greedy(Tokens(5, 1), 3), reader.Ready());
  ASSERT_TRUE(running.ok());
  EXPECT_EQ(running->queue_position(), 0u);
  gate.AwaitArrival();  // it is admitted and off the queue
  auto first = loop.Submit(Greedy(Tokens(5, 2), 3), [] {});
  auto second = loop.Submit(Greedy(Tokens(5, 3), 3), [] {});
  auto third = loop.Submit(Greedy(Tokens(5, 4), 3), [] {});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_LT(first->queue_position(), second->queue_position());
  EXPECT_EQ(third.status().code(), StatusCode::kResourceExhausted);
  gate.Open();
  EXPECT_TRUE(loop.WaitIdle(Deadline::After(10s)));
}

TEST(StepLoop, WhatCanStartAtOnceDoesNotFillTheQueue) {
  Gate gate;
  FakeEngine engine({.slots = 4});
  engine.on_layer = [&] { gate.Pass(); };
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(1));
  gate.Close();
  std::vector<Result<Generation>> all;
  for (int i = 0; i < 6; ++i) all.push_back(loop.Submit(Greedy(Tokens(5, i + 1), 3), [] {}));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(all[i].ok()) << i;
  EXPECT_EQ(all[5].status().code(), StatusCode::kResourceExhausted);
  gate.Open();
  EXPECT_TRUE(loop.WaitIdle(Deadline::After(10s)));
}

TEST(StepLoop, DestroyingAGenerationCancelsIt) {
  Gate gate;
  FakeEngine engine({.slots = 1});
  engine.on_layer = [&] { gate.Pass(); };
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(8));
  gate.Close();
  {
    auto running = loop.Submit(Greedy(Tokens(200, 1), 500), [] {});
    ASSERT_TRUE(running.ok());
    gate.AwaitArrival();
    auto queued = loop.Submit(Greedy(Tokens(5, 2), 500), [] {});
    ASSERT_TRUE(queued.ok());
    EXPECT_EQ(loop.stats().waiting, 1);
  }
  EXPECT_EQ(loop.stats().waiting, 0) << "a queued request leaves at once, whatever the step thread is doing";
  gate.Open();
  EXPECT_TRUE(loop.WaitIdle(Deadline::After(10s)));
  loop.Stop();
  EXPECT_EQ(engine.free_slots(), 1);
}

TEST(StepLoop, ADeadlinePassesWithoutAnyOtherNews) {
  FakeEngine engine({.slots = 1, .pool_tokens = 4096});
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(8));
  // Nobody reads, so after 1,024 tokens the loop sleeps.
  RequestSpec spec = Greedy(Tokens(5, 1), 3000);
  spec.deadline = Deadline::After(300ms);
  auto generation = loop.Submit(spec, [] {});
  ASSERT_TRUE(generation.ok());
  ASSERT_TRUE(loop.WaitIdle(Deadline::After(10s)));
  Received received;
  while (auto output = generation->Next()) received.Take(*std::move(output));
  EXPECT_EQ(received.outcome.status.code(), StatusCode::kDeadlineExceeded);
}

TEST(StepLoop, DrainingRefusesNewAndFinishesOld) {
  Gate gate;
  FakeEngine engine({.slots = 1});
  engine.on_layer = [&] { gate.Pass(); };
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(8));
  gate.Close();
  Reader reader, queued_reader;
  const RequestSpec spec = Greedy(Tokens(5, 1), 10);
  auto running = loop.Submit(spec, reader.Ready());
  gate.AwaitArrival();
  auto queued = loop.Submit(spec, queued_reader.Ready());
  std::atomic<int> idle_calls = 0;
  loop.WhenIdle([&] { ++idle_calls; });
  loop.StartDraining(Unavailable("going"));
  EXPECT_EQ(loop.Submit(spec, [] {}).status().message(), "going");
  EXPECT_FALSE(loop.WaitIdle(Deadline::After(20ms)));
  EXPECT_EQ(idle_calls, 0);
  gate.Open();
  EXPECT_EQ(reader.ReadAll(*running).tokens, GreedyTokens(spec, 40));
  EXPECT_EQ(queued_reader.ReadAll(*queued).tokens, GreedyTokens(spec, 40));
  EXPECT_TRUE(loop.WaitIdle(Deadline::After(10s)));
  loop.Stop();
  EXPECT_EQ(idle_calls, 1);
}

TEST(StepLoop, StoppingEndsWhatRuns) {
  FakeEngine engine({.slots = 1, .pool_tokens = 4096});
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(8));
  auto running = loop.Submit(Greedy(Tokens(5, 1), 4000), [] {});
  auto queued = loop.Submit(Greedy(Tokens(5, 1), 10), [] {});
  loop.Stop();
  for (auto* generation : {&*running, &*queued}) {
    Received received;
    while (auto output = generation->Next()) received.Take(*std::move(output));
    EXPECT_EQ(received.outcomes, 1);
    EXPECT_EQ(received.outcome.status.code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(loop.Submit(Greedy(Tokens(5, 1), 10), [] {}).status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(loop.Post([] {}));
}

TEST(StepLoop, PostedTasksRunOnItsThread) {
  FakeEngine engine({});
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(8));
  std::atomic<bool> ran = false;
  std::thread::id where;
  ASSERT_TRUE(loop.Post([&] {
    where = std::this_thread::get_id();
    ran = true;
  }));
  loop.Stop();
  EXPECT_TRUE(ran);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(StepLoop, SleepsWhenThereIsNothingToDo) {
  FakeEngine engine({});
  LoopObserver observer;
  StepLoop loop(engine, observer, WithQueue(8));
  timespec before, after;
  ASSERT_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before), 0);
  std::this_thread::sleep_for(500ms);
  ASSERT_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after), 0);
  const double used =
      static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  // Any polling loop would be far above; this is processor time, which a busy machine does not change.
  EXPECT_LT(used, 0.05);
}

}  // namespace
}  // namespace hearth
