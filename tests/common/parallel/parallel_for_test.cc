#include "common/parallel/parallel_for.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>
#include <vector>

namespace hearth {
namespace {

TEST(ParallelFor, EveryIndexOnce) {
  for (const int64_t n : {0, 1, 2, 3, 1000}) {
    std::vector<int> calls(static_cast<size_t>(n));
    ParallelFor(n, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
    EXPECT_EQ(std::count(calls.begin(), calls.end(), 1), n);
  }
}

TEST(ParallelFor, Nested) {
  std::vector<int> calls(20 * 30);
  ParallelFor(20, [&](int64_t i) {
    int64_t sum = 0;
    std::vector<int64_t> own(30);
    ParallelFor(30, [&](int64_t j) {
      ++calls[static_cast<size_t>(i * 30 + j)];
      own[static_cast<size_t>(j)] = j;
    });
    for (const int64_t j : own) sum += j;
    EXPECT_EQ(sum, 30 * 29 / 2);
  });
  EXPECT_EQ(std::count(calls.begin(), calls.end(), 1), 600);
}

TEST(ParallelFor, AnExceptionComesOutAfterTheLastCall) {
  std::atomic<int> running{0};
  try {
    ParallelFor(1000, [&](int64_t i) {
      ++running;
      if (i == 500) {
        --running;
        throw std::runtime_error("at 500");
      }
      --running;
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "at 500");
  }
  EXPECT_EQ(running, 0);
}

TEST(ParallelInvoke, CallsBoth) {
  int first = 0, second = 0;
  ParallelInvoke([&] { ++first; }, [&] { ++second; });
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(ParallelTeam, RangesCoverEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    ParallelTeam team(threads);
    EXPECT_EQ(team.threads(), threads);
    for (const auto& [n, grain] : {std::pair{0, 1}, {1, 1}, {7, 100}, {1000, 1}, {1000, 64}}) {
      std::vector<int> calls(static_cast<size_t>(n));
      team.Run(n, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++calls[static_cast<size_t>(i)];
      });
      EXPECT_EQ(std::count(calls.begin(), calls.end(), 1), n) << threads << " threads, grain " << grain;
    }
  }
  EXPECT_EQ(ParallelTeam(0).threads(), 1);
}

// An op that is called inside an outer loop's index keeps its thread's scratch until it returns.
TEST(ParallelTeam, AThreadThatWaitsTakesNoWorkOfAnOuterLoop) {
  ParallelTeam team(3);
  static thread_local bool busy;
  std::atomic<int> mixed{0};
  team.Run(50, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (std::exchange(busy, true)) ++mixed;
      std::atomic<int> sum{0};
      team.Run(20, 1, [&](int64_t inner_begin, int64_t inner_end) {
        for (int64_t j = inner_begin; j < inner_end; ++j) sum += static_cast<int>(j);
      });
      EXPECT_EQ(sum, 190);
      busy = false;
    }
  });
  EXPECT_EQ(mixed, 0);
}

}  // namespace
}  // namespace hearth
