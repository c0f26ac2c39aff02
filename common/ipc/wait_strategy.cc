#include "common/ipc/wait_strategy.h"

namespace hearth {

std::chrono::nanoseconds SpinBudget(int usable_cpus) {
  // About what sleeping and waking costs. Spinning on to the next layer's job is a little quicker where the CPUs have
  // nothing else to do and much slower where they have (docs/design/cpu_tier_link.md).
  return usable_cpus <= 4 ? std::chrono::nanoseconds::zero() : std::chrono::microseconds(50);
}

}  // namespace hearth
