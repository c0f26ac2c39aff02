#include "common/ipc/wait_strategy.h"

#include <gtest/gtest.h>

#include <thread>

namespace hearth {
namespace {

using namespace std::chrono_literals;

TEST(WaitUntil, DoesNotCountWhatIsReadyAtOnce) {
  const std::atomic<uint32_t> word = 3;
  WaitStats stats;
  EXPECT_TRUE(WaitUntil(
      word, [](uint32_t w) { return w == 3; }, Deadline::After(1h), 1ms, &stats));
  EXPECT_EQ(stats.waits + stats.spins + stats.parks, 0u);
}

TEST(WaitUntil, SleepsWithoutABudgetAndGivesUpAtTheDeadline) {
  const std::atomic<uint32_t> word = 0;
  WaitStats stats;
  EXPECT_FALSE(WaitUntil(
      word, [](uint32_t w) { return w == 1; }, Deadline::After(5ms), 0ns, &stats));
  EXPECT_EQ(stats.waits, 1u);
  EXPECT_EQ(stats.spins, 0u);
  EXPECT_GE(stats.parks, 1u);
}

TEST(WaitUntil, SpinsFirstWithABudget) {
  const std::atomic<uint32_t> word = 0;
  WaitStats stats;
  EXPECT_FALSE(WaitUntil(
      word, [](uint32_t w) { return w == 1; }, Deadline::After(5ms), 1ms, &stats));
  EXPECT_GE(stats.spins, 64u);
}

TEST(WaitUntil, SeesEveryStepOfAnotherThread) {
  for (const std::chrono::nanoseconds budget : {std::chrono::nanoseconds(0), std::chrono::nanoseconds(20us)}) {
    std::atomic<uint32_t> ping = 0, pong = 0;
    constexpr uint32_t kRounds = 500;
    std::thread other([&] {
      for (uint32_t i = 1; i <= kRounds; ++i) {
        if (!WaitUntil(
                ping, [i](uint32_t w) { return w == i; }, Deadline::After(1min), budget))
          return;
        pong.store(i, std::memory_order_release);
        FutexWake(pong);
      }
    });
    uint32_t seen = 0;
    for (uint32_t i = 1; i <= kRounds; ++i) {
      ping.store(i, std::memory_order_release);
      FutexWake(ping);
      if (!WaitUntil(
              pong, [i](uint32_t w) { return w == i; }, Deadline::After(1min), budget))
        break;
      seen = i;
    }
    other.join();
    EXPECT_EQ(seen, kRounds);
  }
}

TEST(SpinBudget, IsNothingOnSmallMachines) {
  EXPECT_EQ(SpinBudget(2), 0ns);
  EXPECT_EQ(SpinBudget(4), 0ns);
  EXPECT_GT(SpinBudget(5), 0ns);
}

}  // namespace
}  // namespace hearth
