// Hand-off of an empty job as the GPU sees it: a kernel stores the job's flag in the link region (host memory),
// cpu_tier's own loop finds the job, runs it through its threads and stores the result's flag, the kernel's polling
// sees it.
//   handoff_cuda_bench [JOBS]            default 10000
//   handoff_cuda_bench --host [JOBS]     the same calls from a thread of the host, where there is no GPU
// First the floor: a thread that only answers flags. Nothing wakes a sleeping tier for a GPU, so only spinning counts.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/experts/empty_tier.h"
#include "bench/experts/flag_caller.h"
#include "common/base/cpu_info.h"
#include "common/base/process.h"
#include "common/base/scope_exit.h"
#include "common/base/startup_error.h"
#include "common/ipc/wait_strategy.h"
#include "kernels/cuda_backend.h"

namespace hearth {
namespace {

constexpr uint32_t kWarm = 1000;

uint32_t* Word(const std::atomic<uint32_t>& word) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  return const_cast<uint32_t*>(reinterpret_cast<const uint32_t*>(&word));
}

const kernels::MemoryOps& MemoryFor(bool on_host) {
  return on_host ? kernels::HostMemoryOps() : *kernels::CudaBackend().memory;
}

void WriteEmptyJob(const LinkView& link) {
  link.experts(0)[0] = {3, 1};
  link.x_row(0)[0] = 0;
  SlotWorkerLine& line = link.worker_line(0);
  line.layer = 0;
  line.rows = line.picks = line.experts = 1;
  line.budget_us = 1'000'000;
}

void Measure(const char* name, const LinkView& link, uint32_t jobs, bool on_host) {
  WriteEmptyJob(link);
  FlagCalls calls{.published = Word(link.worker_line(0).published),
                  .bell = Word(link.header().bell),
                  .done = Word(link.daemon_line(0).done)};
  const uint32_t warm = on_host ? 1 : kWarm;  // the first may find the tier asleep
  calls.jobs = warm + jobs;
  const FlagTimes times = on_host ? CallFromHost(calls) : CallFromDevice(calls);
  if (times.answered != calls.jobs) throw StartupError(StrCat(name, ": a job was not answered within a second"));
  std::vector<double> micros(times.micros.begin() + warm, times.micros.end());
  std::sort(micros.begin(), micros.end());
  const auto at = [&](double share) { return micros[static_cast<size_t>(share * (jobs - 1))]; };
  std::printf("%-38s %u jobs: p50 %.2f us  p99 %.2f us  least %.2f  worst %.1f\n", name, jobs, at(0.5), at(0.99),
              micros.front(), micros.back());
}

// What the way there and back costs by itself: a thread that answers flags and does nothing else.
void MeasureFloor(const HomeView& home, uint32_t jobs, bool on_host) {
  const std::shared_ptr<LinkAttachment> region = MakeEmptyJobRegion(home, MemoryFor(on_host));
  const LinkView& link = region->view();
  std::atomic<bool> stop{false};
  std::thread echo([&] {
    std::atomic<uint32_t>& done = link.daemon_line(0).done;
    while (!stop.load(std::memory_order_relaxed)) {
      const uint32_t number = link.worker_line(0).published.load(std::memory_order_acquire);
      if (number != done.load(std::memory_order_relaxed)) done.store(number, std::memory_order_release);
      CpuRelax();
    }
  });
  const ScopeExit join([&] {
    stop = true;
    echo.join();
  });
  Measure("a thread that only answers", link, jobs, on_host);
}

void MeasureTier(const char* name, int threads, int units, uint32_t jobs, bool on_host) {
  const EmptyTier tier(threads, "auto", units, MemoryFor(on_host));
  Measure(name, tier.region()->view(), jobs, on_host);
}

void Run(uint32_t jobs, bool on_host) {
  if (!on_host) {
    if (const std::string problem = kernels::CudaProblem(); !problem.empty()) {
      std::printf("SKIPPED: %s\n", problem.c_str());
      std::exit(77);
    }
    std::printf("%s, ", kernels::DescribeCudaDevice().name.c_str());
  }
  const int threads = std::max(1, UsableCpuCount() - 2);
  std::printf("%d threads of the tier, spinning %s, called from %s\n", threads,
              SpinBudget(UsableCpuCount()).count() > 0 ? "50 us" : "off", on_host ? "the host" : "the GPU");
  const testing::TinyHome tiny({.layers = 1, .experts = EmptyTier::kExperts, .hidden = EmptyTier::kHidden});
  MeasureFloor(tiny.view(), jobs, on_host);
  MeasureTier("cpu_tier, an empty job", threads, 1, jobs, on_host);
  MeasureTier("cpu_tier, every thread takes part", threads, std::max(2, threads), jobs, on_host);
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  const bool on_host = argc > 1 && std::strcmp(argv[1], "--host") == 0;
  const int first = on_host ? 2 : 1, jobs = argc > first ? std::atoi(argv[first]) : 10000;
  if (jobs < 1 || argc > first + 1) {
    std::fputs("usage: handoff_cuda_bench [--host] [JOBS]\n", stderr);
    return 2;
  }
  return hearth::RunProcess("handoff_cuda_bench",
                            [&](hearth::StopSignal&) { hearth::Run(static_cast<uint32_t>(jobs), on_host); });
}
