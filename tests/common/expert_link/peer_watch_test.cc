#include "common/expert_link/peer_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth {
namespace {

using namespace std::chrono_literals;

// A process that only waits for its end.
pid_t Sleeper() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  return pid;
}

void End(pid_t pid) {
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST(PeerWatch, SeesTheEndOfThePeerAtOnce) {
  ASSERT_NE(PidNamespace(), 0u);
  const std::atomic<uint64_t> beat{1};
  const pid_t pid = Sleeper();
  PeerWatch watch({pid, PidNamespace()}, beat, 1min);
  EXPECT_EQ(watch.Wait(1ms, -1), PeerWatch::State::kAlive);
  End(pid);
  EXPECT_EQ(watch.Wait(1min, -1), PeerWatch::State::kDied);
}

TEST(PeerWatch, TakesNoProcessHereForAPeerOfAnotherNamespace) {
  for (const uint64_t pid_namespace : {PidNamespace() + 1, uint64_t{0}}) {
    std::atomic<uint64_t> beat{1};
    const pid_t pid = Sleeper();
    PeerWatch watch({pid, pid_namespace}, beat, 200ms);
    End(pid);
    ++beat;
    EXPECT_EQ(watch.Wait(1ms, -1), PeerWatch::State::kAlive);
    EXPECT_EQ(watch.Wait(300ms, -1), PeerWatch::State::kSilent) << "the beat still counts";
  }
}

}  // namespace
}  // namespace hearth
