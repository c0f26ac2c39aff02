#include "common/base/stop_signal.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "common/base/check.h"
#include "common/base/deadline.h"

namespace hearth {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_fd{-1};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// The descriptor is made before the handler can run and lives as long as the process.
int StopFd() {
  static const int fd = [] {
    const int made = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    HEARTH_CHECK(made >= 0, "eventfd failed");
    stop_fd.store(made);
    return made;
  }();
  return fd;
}

void OnSignal(int) {
  const int saved = errno;
  if (stop_requested.load()) ::_exit(130);
  StopSignal::Request();
  errno = saved;
}

}  // namespace

void StopSignal::Install() {
  StopFd();
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

void StopSignal::Request() {
  stop_requested.store(true);
  const uint64_t one = 1;
  const int fd = stop_fd.load();
  // The count can only overflow after the descriptor is readable, so a failed write changes nothing.
  if (fd >= 0) [[maybe_unused]]
    const ssize_t written = ::write(fd, &one, sizeof one);
}

bool StopSignal::requested() const { return stop_requested.load(); }

int StopSignal::poll_fd() const {
  const int fd = StopFd();
  if (requested()) Request();  // a request from before the descriptor existed
  return fd;
}

bool StopSignal::WaitFor(std::chrono::nanoseconds time) const {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24);
  const Deadline deadline = Deadline::After(time < kLongest ? time : kLongest);
  pollfd entry = {.fd = poll_fd(), .events = POLLIN, .revents = 0};
  while (!requested() && !deadline.Passed()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Left());
    ::poll(&entry, 1, static_cast<int>(left.count()));
  }
  return requested();
}

}  // namespace hearth
