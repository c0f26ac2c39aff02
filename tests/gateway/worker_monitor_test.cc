#include "gateway/worker_client/worker_monitor.h"

#include <mutex>

#include "tests/gateway/running_gateway.h"

namespace hearth::test {
namespace {

class WorkerMonitorTest : public ::testing::Test {
 protected:
  WorkerMonitorTest() {
    SetLogLevel(LogLevel::kError);
    EXPECT_TRUE(Eventually([this] { return monitor_.view()->answers; }));
  }

  // A worker's first questions may find no connection: what counts begins behind them.
  void ForgetDowns() {
    std::lock_guard lock(mutex_);
    downs_ = 0;
  }
  int downs() {
    std::lock_guard lock(mutex_);
    return downs_;
  }
  // True once the worker has answered so many more questions.
  bool AnswersMore(int count) {
    const int wanted = worker_->info_answers() + count;
    return Eventually([this, wanted] { return worker_->info_answers() >= wanted; });
  }

  std::unique_ptr<FakeWorker> worker_ =
      std::make_unique<FakeWorker>([](const engine::GenerateSpec&) { return Script{}; }, kModelDir);
  std::mutex mutex_;
  int downs_ = 0;
  engine::EngineClient client_{worker_->address(), {}};
  engine::WorkerMonitor monitor_{client_, [this](const engine::WorkerView& view) {
                                   std::lock_guard lock(mutex_);
                                   downs_ += !view.answers;
                                 }};
};

TEST_F(WorkerMonitorTest, OneQuestionWithoutAnAnswerIsNoDeath) {
  ForgetDowns();
  for (int i = 0; i < 2; ++i) {  // misses do not add up over the answers between them
    worker_->IgnoreInfoQuestions(1);
    ASSERT_TRUE(AnswersMore(2));
    EXPECT_EQ(worker_->ignored_questions(), 0);
  }
  EXPECT_EQ(downs(), 0);
  EXPECT_TRUE(monitor_.view()->ready());
}

TEST_F(WorkerMonitorTest, TwoInARowAreUntilItAnswersAgain) {
  ForgetDowns();
  worker_->IgnoreInfoQuestions(2);
  ASSERT_TRUE(Eventually([this] { return downs() == 1; }));
  ASSERT_TRUE(Eventually([this] { return monitor_.view()->ready(); }));
  EXPECT_EQ(downs(), 1);
}

}  // namespace
}  // namespace hearth::test
