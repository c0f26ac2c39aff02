#include "cpu_tier/thread_team.h"

#include <sched.h>

#include "common/base/check.h"
#include "common/base/cpu_info.h"
#include "common/ipc/wait_strategy.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

constexpr int kCountBits = 20;
constexpr uint64_t kMask = (uint64_t{1} << kCountBits) - 1;
constexpr auto kNap = 10s;  // a sleeper looks around now and then, though every wake is sent

void Pin(int cpu) {
  cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(cpu) + 1);
  const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  ::sched_setaffinity(0, bytes, set);  // unpinned is slower, not wrong
  CPU_FREE(set);
}

}  // namespace

ThreadTeam::ThreadTeam(const CpuChoice& choice) : choice_(choice), spin_(SpinBudget(UsableCpuCount())) {
  for (size_t i = 1; i < choice.cpus.size(); ++i) {
    helpers_.emplace_back([this, cpu = choice.cpus[i]] { Help(cpu); });
  }
}

ThreadTeam::~ThreadTeam() {
  stop_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  FutexWake(epoch_);
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadTeam::PinCaller() const {
  if (choice_.pinned && !choice_.cpus.empty()) Pin(choice_.cpus[0]);
}

void ThreadTeam::Run(uint32_t count, Unit unit, void* context) {
  HEARTH_CHECK(count <= kMask, "too many units in one loop");
  if (helpers_.empty() || count <= 1) {
    for (uint32_t i = 0; i < count; ++i) unit(context, i);
    return;
  }
  unit_ = unit;
  context_ = context;
  completed_.store(0, std::memory_order_relaxed);
  generation_ = (generation_ + 1) & ((uint64_t{1} << 24) - 1);
  // Release pairs with the acquire of the claim in Work: a claimed unit sees unit_ and context_.
  ticket_.store(generation_ << (2 * kCountBits) | uint64_t{count} << kCountBits, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  FutexWake(epoch_);
  Work();
  // Units end by themselves; the deadline only bounds each sleep.
  while (!WaitUntil(
      completed_, [count](uint32_t done) { return done == count; }, Deadline::After(kNap), spin_)) {
  }
}

void ThreadTeam::Work() {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  for (;;) {
    const uint64_t next = ticket & kMask, count = ticket >> kCountBits & kMask;
    if (next >= count) return;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      continue;
    }
    unit_(context_, static_cast<uint32_t>(next));
    // Release pairs with the acquire in Run: the caller sees what the unit wrote.
    if (completed_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) FutexWake(completed_);
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void ThreadTeam::Help(int cpu) {
  if (choice_.pinned) Pin(cpu);
  while (!stop_.load(std::memory_order_acquire)) {
    const uint32_t seen = epoch_.load(std::memory_order_acquire);
    Work();
    if (stop_.load(std::memory_order_acquire)) return;
    WaitUntil(
        epoch_, [seen](uint32_t epoch) { return epoch != seen; }, Deadline::After(kNap), spin_);
  }
}

}  // namespace hearth
