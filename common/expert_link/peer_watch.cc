#include "common/expert_link/peer_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth {

PeerWatch::PeerWatch(int pid, const std::atomic<uint64_t>& beat, std::chrono::milliseconds silence)
    : beat_(beat),
      silence_(silence),
      process_(pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1),
      last_beat_(beat.load(std::memory_order_relaxed)),
      last_change_(Deadline::Clock::now()) {}

PeerWatch::State PeerWatch::Wait(std::chrono::milliseconds time, int wake_fd) {
  // poll() passes over negative descriptors.
  pollfd polled[2] = {{process_.get(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
  ::poll(polled, 2, static_cast<int>(time.count()));
  if (process_.valid() && polled[0].revents != 0) return State::kDied;
  const uint64_t beat = beat_.load(std::memory_order_relaxed);
  const auto now = Deadline::Clock::now();
  if (beat != last_beat_) {
    last_beat_ = beat;
    last_change_ = now;
  }
  return now - last_change_ > silence_ ? State::kSilent : State::kAlive;
}

}  // namespace hearth
