#include "bench/engine/tier_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

std::string ProgramOf(int pid) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
  return name;
}

TEST(TierProcess, OneThatListensEndsAtOnce) {
  const auto begin = Clock::now();
  { TierProcess tier("/bin/sleep", {"60"}); }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
}

TEST(TierProcess, OneThatDoesNotListenIsKilled) {
  auto tier = std::make_unique<TierProcess>("/bin/sh", std::vector<std::string>{"-c", "trap '' TERM; exec sleep 60"});
  const int pid = tier->pid();
  for (int i = 0; i < 1000 && ProgramOf(pid) != "sleep"; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(ProgramOf(pid), "sleep");
  const auto begin = Clock::now();
  tier.reset();
  EXPECT_GT(Clock::now() - begin, std::chrono::seconds(2)) << "it had no time to end by itself";
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "it was not reaped";
}

}  // namespace
}  // namespace hearth
