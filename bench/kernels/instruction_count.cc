#include "bench/kernels/instruction_count.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "common/base/unique_fd.h"

namespace hearth::bench {

double CountInstructions(const std::function<void()>& work) {
  perf_event_attr event{};
  event.type = PERF_TYPE_HARDWARE;
  event.size = sizeof event;
  event.config = PERF_COUNT_HW_INSTRUCTIONS;
  event.disabled = 1;
  event.exclude_kernel = 1;
  event.exclude_hv = 1;
  const UniqueFd counter(static_cast<int>(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0)));
  if (!counter.valid()) return 0;
  ioctl(counter.get(), PERF_EVENT_IOC_ENABLE, 0);
  work();
  ioctl(counter.get(), PERF_EVENT_IOC_DISABLE, 0);
  uint64_t count = 0;
  return read(counter.get(), &count, sizeof count) == sizeof count ? static_cast<double>(count) : 0;
}

double ClockGhz() {
  // A loop of single additions would measure its jump, which takes two clocks while the core's other thread is busy;
  // and of additions with a constant, some processors do several in a clock.
  constexpr int kRounds = 50'000, kAdditions = 64;
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    timespec begin{}, end{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    uint64_t x = 0;
    uint64_t one = 1;
    for (int i = 0; i < kRounds; ++i) {
#if defined(__x86_64__)
      asm volatile(".rept %c2\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(one), "i"(kAdditions));
#endif
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    const double ns =
        1e9 * static_cast<double>(end.tv_sec - begin.tv_sec) + static_cast<double>(end.tv_nsec - begin.tv_nsec);
    best = std::max(best, double{kRounds} * kAdditions / ns);
  }
  return best;
}

}  // namespace hearth::bench
