#include "common/ipc/futex.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

namespace hearth {
namespace {

using namespace std::chrono_literals;

TEST(Futex, DoesNotSleepOnAnotherValue) {
  const std::atomic<uint32_t> word = 5;
  EXPECT_TRUE(FutexWait(word, 4, Deadline::After(1h)));
}

TEST(Futex, GivesUpAtTheDeadline) {
  const std::atomic<uint32_t> word = 5;
  EXPECT_FALSE(FutexWait(word, 5, Deadline::After(2ms)));
  EXPECT_FALSE(FutexWait(word, 5, Deadline::At(Deadline::Clock::now() - 1s)));
}

TEST(Futex, WakesASleeperInAnotherProcess) {
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* const words = new (page) std::atomic<uint32_t>[2] {};
  const pid_t child = ::fork();
  if (child == 0) {
    const Deadline deadline = Deadline::After(1min);
    while (words[0].load() == 0 && FutexWait(words[0], 0, deadline)) {
    }
    words[1].store(1);
    FutexWake(words[1]);
    ::_exit(words[0].load() == 1 ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  words[0].store(1);
  FutexWake(words[0]);
  const Deadline deadline = Deadline::After(1min);
  while (words[1].load() == 0 && FutexWait(words[1], 0, deadline)) {
  }
  EXPECT_EQ(words[1].load(), 1u);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::munmap(page, 4096);
}

}  // namespace
}  // namespace hearth
