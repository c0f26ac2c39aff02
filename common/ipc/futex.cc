#include "common/ipc/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/check.h"

namespace hearth {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

// steady_clock counts CLOCK_MONOTONIC, the clock of FUTEX_WAIT_BITSET without FUTEX_CLOCK_REALTIME.
timespec ToTimespec(Deadline deadline) {
  const auto since_boot = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.when().time_since_epoch());
  return {.tv_sec = static_cast<time_t>(since_boot.count() / 1'000'000'000),
          .tv_nsec = static_cast<long>(since_boot.count() % 1'000'000'000)};
}

}  // namespace

bool FutexWait(const std::atomic<uint32_t>& word, uint32_t expected, Deadline deadline) {
  const bool forever = deadline.when() == Deadline::Never().when();
  const timespec until = forever ? timespec{} : ToTimespec(deadline);
  // No FUTEX_PRIVATE_FLAG: the waker may be another process.
  const long outcome = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, forever ? nullptr : &until, nullptr,
                                 FUTEX_BITSET_MATCH_ANY);
  if (outcome == 0 || errno == EAGAIN || errno == EINTR) return true;
  HEARTH_CHECK(errno == ETIMEDOUT, std::strerror(errno));
  return false;
}

int FutexWake(const std::atomic<uint32_t>& word, int count) {
  const long woken = ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
  HEARTH_CHECK(woken >= 0, std::strerror(errno));
  return static_cast<int>(woken);
}

}  // namespace hearth
