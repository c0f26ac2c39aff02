#include "cpu_tier/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace hearth {
namespace {

TEST(ThreadTeam, DoesEveryUnitOnceAndSeesItsResult) {
  for (int threads : {1, 2, 4}) {
    ThreadTeam team({std::vector<int>(static_cast<size_t>(threads), 0), false});
    EXPECT_EQ(team.threads(), threads);
    std::mt19937 random(1);
    for (int loop = 0; loop < 2000; ++loop) {
      std::vector<int> done(random() % 40);
      team.ForEach(static_cast<uint32_t>(done.size()),
                   [&](uint32_t unit) { done[unit] += static_cast<int>(unit) + 1; });
      for (size_t i = 0; i < done.size(); ++i) ASSERT_EQ(done[i], static_cast<int>(i) + 1);
    }
  }
}

TEST(ThreadTeam, HelpersThatSleptJoinALongLoop) {
  ThreadTeam team({{0, 0, 0}, false});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::atomic<int> running{0}, most{0};
  team.ForEach(24, [&](uint32_t) {
    const int now = running.fetch_add(1) + 1;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    running.fetch_sub(1);
  });
  EXPECT_GT(most.load(), 1);
  EXPECT_LE(most.load(), 3);
}

}  // namespace
}  // namespace hearth
