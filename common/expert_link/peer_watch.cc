#include "common/expert_link/peer_watch.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth {
namespace {

// In another namespace the number may belong to any process here, whose end says nothing about the peer.
int OpenProcess(const PeerProcess& peer) {
  if (peer.pid <= 0 || peer.pid_namespace == 0 || peer.pid_namespace != PidNamespace()) return -1;
  return static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0));
}

}  // namespace

uint64_t PidNamespace() {
  struct stat facts = {};
  return ::stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

PeerWatch::PeerWatch(const PeerProcess& peer, const std::atomic<uint64_t>& beat, std::chrono::milliseconds silence)
    : beat_(beat),
      silence_(silence),
      process_(OpenProcess(peer)),
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
