#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "cpu_tier/cpu_choice.h"

namespace hearth {

// Threads that share loops of independent units. The caller is one of them; the others spin briefly after a loop and
// then sleep. A loop ends when its last unit is done: a helper that wakes too late is not waited for.
class ThreadTeam {
 public:
  explicit ThreadTeam(const CpuChoice& choice);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }
  // How long a thread spins for another one before it sleeps.
  std::chrono::nanoseconds spin() const { return spin_; }
  // Puts the calling thread on the team's first CPU, where threads are pinned at all.
  void PinCaller() const;

  // Calls f(0) .. f(count - 1), each once, on any of the threads. One loop at a time.
  template <typename F>
  void ForEach(uint32_t count, F&& f) {
    Run(
        count, [](void* context, uint32_t unit) { (*static_cast<std::remove_reference_t<F>*>(context))(unit); }, &f);
  }

 private:
  using Unit = void (*)(void* context, uint32_t unit);
  void Run(uint32_t count, Unit unit, void* context);
  void Work();
  void Help(int cpu);

  // generation (24 bits) | count (20) | next unit (20). Claiming a unit by compare-and-swap proves that its loop is
  // still open, and so that unit_ and context_ are that loop's.
  std::atomic<uint64_t> ticket_{0};
  Unit unit_ = nullptr;
  void* context_ = nullptr;
  std::atomic<uint32_t> completed_{0};
  uint64_t generation_ = 0;

  std::atomic<uint32_t> epoch_{0};  // rises with every loop; helpers sleep on it
  std::atomic<bool> stop_{false};
  const CpuChoice choice_;
  const std::chrono::nanoseconds spin_;
  std::vector<std::thread> helpers_;
};

}  // namespace hearth
