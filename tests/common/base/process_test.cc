#include "common/base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "common/base/startup_error.h"

namespace hearth {
namespace {

using ::testing::ExitedWithCode;
using namespace std::chrono_literals;

// Each in a process of its own: the stop request lasts as long as a process.
TEST(RunProcessDeathTest, ReturnsZeroAfterTheBody) {
  EXPECT_EXIT(std::exit(RunProcess("hearth-x", [](StopSignal&) {})), ExitedWithCode(0), "");
}

TEST(RunProcessDeathTest, PrintsAStartupErrorAndReturnsTwo) {
  EXPECT_EXIT(std::exit(RunProcess("hearth-x", [](StopSignal&) { throw StartupError("port 1 is taken"); })),
              ExitedWithCode(2), "hearth-x: port 1 is taken\n");
}

TEST(RunProcessDeathTest, ReturnsThreeAfterAnyOtherException) {
  EXPECT_EXIT(std::exit(RunProcess("hearth-x", [](StopSignal&) { throw std::runtime_error("odd"); })),
              ExitedWithCode(3), "hearth-x: unexpected error: odd");
  EXPECT_EXIT(std::exit(RunProcess("hearth-x", [](StopSignal&) { throw 1; })), ExitedWithCode(3), "unknown type");
}

TEST(RunProcessDeathTest, FirstSignalAsksAndSecondEnds) {
  const auto first = [](StopSignal& stop) {
    if (stop.requested() || stop.WaitFor(0ms)) ::_exit(50);
    ::raise(SIGTERM);
    if (!stop.requested() || !stop.WaitFor(1h)) ::_exit(51);
  };
  EXPECT_EXIT(std::exit(RunProcess("x", first)), ExitedWithCode(0), "");
  const auto second = [](StopSignal&) {
    ::raise(SIGTERM);
    ::raise(SIGINT);
  };
  EXPECT_EXIT(std::exit(RunProcess("x", second)), ExitedWithCode(130), "");
}

TEST(RunProcessDeathTest, WakesAWaiterOnAnotherThread) {
  const auto body = [](StopSignal& stop) {
    std::thread killer([] { ::kill(::getpid(), SIGINT); });
    const bool woken = stop.WaitFor(1h);
    killer.join();
    if (!woken) ::_exit(52);
  };
  EXPECT_EXIT(std::exit(RunProcess("x", body)), ExitedWithCode(0), "");
}

TEST(RunProcessDeathTest, IgnoresBrokenPipes) {
  const auto body = [](StopSignal&) {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(53);
    ::close(ends[0]);
    if (::write(ends[1], "x", 1) != -1) ::_exit(54);
  };
  EXPECT_EXIT(std::exit(RunProcess("x", body)), ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hearth
