#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "common/base/deadline.h"
#include "common/base/unique_fd.h"

namespace hearth {

// A process as it names itself to its peer.
struct PeerProcess {
  int pid = 0;
  uint64_t pid_namespace = 0;  // what PidNamespace() gives it; 0: not known
};

// The inode of this process's pid namespace, by which two processes tell whether a process id means the same to both;
// 0 where /proc does not say.
uint64_t PidNamespace();

// Watches the process on the other side of a link: whether it still exists, where its process id means something
// here, and whether its beat goes on.
class PeerWatch {
 public:
  enum class State { kAlive, kDied, kSilent };

  // `beat` must stay mapped. A beat that stands still for `silence` counts as silent.
  PeerWatch(const PeerProcess& peer, const std::atomic<uint64_t>& beat, std::chrono::milliseconds silence);

  // Sleeps until the time is over, the peer dies or `wake_fd` (-1: none) becomes readable.
  State Wait(std::chrono::milliseconds time, int wake_fd);

 private:
  const std::atomic<uint64_t>& beat_;
  const std::chrono::milliseconds silence_;
  UniqueFd process_;  // a pidfd; none unless the peer lives in this pid namespace
  uint64_t last_beat_;
  Deadline::Clock::time_point last_change_;
};

}  // namespace hearth
