#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "common/base/deadline.h"
#include "common/ipc/futex.h"

namespace hearth {

// How often a thread span and slept; a thread's own, so plain numbers.
struct WaitStats {
  uint64_t waits = 0;  // calls that did not find the word ready at once
  uint64_t spins = 0;  // looks at the word while spinning
  uint64_t parks = 0;  // sleeps in the kernel
};

// How long to spin before sleeping: none on 4 CPUs or fewer, where a spinner takes the CPU from the one it waits for.
std::chrono::nanoseconds SpinBudget(int usable_cpus);

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// Waits until done(word) holds: spins for `spin_budget`, then sleeps on the word. The other side stores the word with
// release and calls FutexWake(); the load here has acquire. False when the deadline passed first. `stats` may be null.
template <typename Predicate>
bool WaitUntil(const std::atomic<uint32_t>& word, Predicate&& done, Deadline deadline,
               std::chrono::nanoseconds spin_budget, WaitStats* stats = nullptr) {
  uint32_t seen = word.load(std::memory_order_acquire);
  if (done(seen)) return true;
  WaitStats ignored;
  WaitStats& count = stats != nullptr ? *stats : ignored;
  ++count.waits;
  if (spin_budget > std::chrono::nanoseconds::zero()) {
    constexpr int kLooksPerClockRead = 64;
    const Deadline spin_end = Deadline::Earlier(deadline, Deadline::After(spin_budget));
    do {
      for (int look = 0; look < kLooksPerClockRead; ++look) {
        ++count.spins;
        seen = word.load(std::memory_order_acquire);
        if (done(seen)) return true;
        CpuRelax();
      }
    } while (!spin_end.Passed());
  }
  while (!deadline.Passed()) {
    ++count.parks;
    FutexWait(word, seen, deadline);
    seen = word.load(std::memory_order_acquire);
    if (done(seen)) return true;
  }
  return false;
}

}  // namespace hearth
