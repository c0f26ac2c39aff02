#include "cpu_tier/job_loop.h"

#include <numeric>

#include "common/base/cpu_info.h"
#include "common/ipc/wait_strategy.h"
#include "common/log/log.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

constexpr auto kNap = 100ms;       // most of a sleep; a stop is noticed no later
constexpr auto kIdleAfter = 10ms;  // without a job for so long, the next one is counted as a first
static_assert(std::is_same_v<kernels::Real, float>, "rows of the link are fp32");

}  // namespace

JobLoop::JobLoop(const HomeView& home, const LinkView& link, const kernels::ExpertKernel& kernel, ThreadTeam& team,
                 TierCounters& counters)
    : home_(home),
      link_(link),
      team_(team),
      counters_(counters),
      runner_(kernel, team),
      out_row_(link.geometry().max_picks),
      spin_(SpinBudget(UsableCpuCount())) {
  std::iota(out_row_.begin(), out_row_.end(), 0);
  thread_ = std::thread([this] { Run(); });
}

JobLoop::~JobLoop() {
  Stop();
  thread_.join();
}

void JobLoop::Stop() { stop_.store(true, std::memory_order_relaxed); }

void JobLoop::Run() {
  team_.PinCaller();
  const std::atomic<uint32_t>& bell = link_.header().bell;
  auto last_job = std::chrono::steady_clock::now();
  while (!stopped()) {
    // The bell is read before the slots: a job published after the look changes it.
    const uint32_t heard = bell.load(std::memory_order_acquire);
    while (const std::optional<uint32_t> slot = NextSlot()) {
      const bool idle = std::chrono::steady_clock::now() - last_job > kIdleAfter;
      if (idle) AddTo(counters_.first_after_idle, link_.header().first_after_idle, 1);
      Serve(*slot);
      last_job = std::chrono::steady_clock::now();
      if (stopped()) return;
    }
    WaitUntil(
        bell, [&](uint32_t now) { return now != heard || stopped(); }, Deadline::After(kNap), spin_);
  }
}

// Numbers rise and may wrap, so the older of two jobs is told by their difference.
std::optional<uint32_t> JobLoop::NextSlot() const {
  std::optional<uint32_t> oldest;
  uint32_t oldest_number = 0;
  for (uint32_t slot = 0; slot < link_.geometry().slots; ++slot) {
    const uint32_t number = link_.worker_line(slot).published.load(std::memory_order_acquire);
    if (number == 0 || number == link_.daemon_line(slot).done.load(std::memory_order_relaxed)) continue;
    if (oldest && static_cast<int32_t>(number - oldest_number) > 0) continue;
    oldest = slot;
    oldest_number = number;
  }
  return oldest;
}

void JobLoop::Serve(uint32_t slot) {
  const auto start = std::chrono::steady_clock::now();
  const JobOutcome outcome = Compute(slot);
  const auto elapsed =
      static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  LinkHeader& header = link_.header();
  switch (outcome) {
    case JobOutcome::kComputed:
      AddTo(counters_.jobs, header.jobs, 1);
      AddTo(counters_.experts, header.job_experts, job_.experts.size());
      AddTo(counters_.rows, header.job_rows, job_.picks());
      AddTo(counters_.busy_ns, header.busy_ns, elapsed);
      break;
    case JobOutcome::kRefused:
      AddTo(counters_.refused, header.refused, 1);
      break;
    case JobOutcome::kAbandoned:
      AddTo(counters_.abandoned, header.abandoned, 1);
      break;
  }
  SlotDaemonLine& line = link_.daemon_line(slot);
  line.outcome = static_cast<uint32_t>(outcome);
  line.elapsed_ns = elapsed;
  line.done.store(job_.number, std::memory_order_release);  // pairs with the acquire of the worker's Wait
  FutexWake(line.done);
}

JobOutcome JobLoop::Compute(uint32_t slot) {
  if (Status status = ReadJob(link_, slot, home_.layers(), home_.experts(), job_); !status.ok()) {
    Log(LogLevel::kWarning, "job refused", {{"reason", status.message()}});
    return JobOutcome::kRefused;
  }
  experts_.clear();
  const auto hidden = static_cast<size_t>(home_.hidden());
  for (const LinkJob::Expert& e : job_.experts) {
    kernels::ExpertFfnArgs args;
    args.expert = home_.Expert(job_.layer, e.expert);
    args.x = link_.x(slot);
    args.x_row = job_.x_row.data() + e.first_pick;
    args.out = link_.out(slot) + e.first_pick * hidden;
    args.out_row = out_row_.data();
    args.picks = e.picks;
    args.hidden = home_.hidden();
    experts_.push_back(args);
  }
  const std::atomic<uint32_t>& abandoned = link_.worker_line(slot).abandoned;
  const bool whole =
      runner_.Run(experts_, [&] { return stopped() || abandoned.load(std::memory_order_relaxed) == job_.number; });
  return whole ? JobOutcome::kComputed : JobOutcome::kAbandoned;
}

}  // namespace hearth
