#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

// What the daemon did since it started, over all attachments. Written by the job thread, read by anybody.
struct TierCounters {
  std::atomic<uint64_t> jobs{0}, experts{0}, rows{0}, busy_ns{0}, first_after_idle{0}, refused{0}, abandoned{0};
};

inline void AddTo(std::atomic<uint64_t>& a, std::atomic<uint64_t>& b, uint64_t n) {
  a.fetch_add(n, std::memory_order_relaxed);
  b.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace hearth
