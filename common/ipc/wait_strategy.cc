#include "common/ipc/wait_strategy.h"

namespace hearth {

std::chrono::nanoseconds SpinBudget(int usable_cpus) {
  // 50 us covers the gap between two layers' jobs; sleeping and waking costs about as much.
  return usable_cpus <= 4 ? std::chrono::nanoseconds::zero() : std::chrono::microseconds(50);
}

}  // namespace hearth
