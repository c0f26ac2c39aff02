#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/experts/empty_tier.h"
#include "common/base/cpu_info.h"
#include "common/ipc/wait_strategy.h"
#include "gpu_worker/experts/link_lane.h"

// Hand-off of a job that computes nothing: published by the worker's lane, found by cpu_tier's loop, run through its
// threads, seen by the worker.
//   handoff_bench [--jobs N] [--gap-us N] [--threads N] [--cpus LIST] [--units N]
// --gap-us is the pause between jobs: beyond 50 us the daemon's threads have gone to sleep.

namespace hearth {
namespace {

struct Options {
  int jobs = 20000, gap_us = 0, threads = 1, units = 1;
  std::string cpus = "auto";
};

Options Parse(int argc, char** argv) {
  const option table[] = {{"jobs", 1, nullptr, 'j'}, {"gap-us", 1, nullptr, 'g'}, {"threads", 1, nullptr, 't'},
                          {"cpus", 1, nullptr, 'c'}, {"units", 1, nullptr, 'u'},  {nullptr, 0, nullptr, 0}};
  Options o;
  for (int c = 0; (c = getopt_long(argc, argv, "", table, nullptr)) != -1;) {
    if (c == 'j') o.jobs = std::max(100, std::atoi(optarg));
    if (c == 'g') o.gap_us = std::max(0, std::atoi(optarg));
    if (c == 't') o.threads = std::max(1, std::atoi(optarg));
    if (c == 'u') o.units = std::max(1, std::atoi(optarg));
    if (c == 'c') o.cpus = optarg;
    if (c == '?') std::exit(2);
  }
  return o;
}

void Run(const Options& o) {
  EmptyTier tier(o.threads, o.cpus, o.units, kernels::HostMemoryOps());
  LinkLane lane;
  lane.Attach(tier.region());
  const std::vector<float> x(EmptyTier::kHidden, 1);
  const std::vector<int32_t> rows = {0};
  const std::vector<CpuJob::Expert> experts = {{3, rows}};
  std::vector<double> micros;
  for (int i = 0; i < o.jobs; ++i) {
    if (o.gap_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(o.gap_us));
    const auto begin = std::chrono::steady_clock::now();
    if (!lane.Publish({0, x.data(), 1, experts, std::chrono::seconds(1)}) ||
        lane.Wait(Deadline::After(std::chrono::seconds(5))).outcome != CpuOutcome::kDone) {
      std::fputs("handoff_bench: a job did not come back\n", stderr);
      std::exit(1);
    }
    micros.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(micros.begin(), micros.end());
  const auto at = [&](double share) { return micros[static_cast<size_t>(share * static_cast<double>(o.jobs - 1))]; };
  std::printf("%d jobs, %d threads, %d units, gap %d us, spinning %s: p50 %.1f us  p99 %.1f us  worst %.0f us\n",
              o.jobs, o.threads, o.units, o.gap_us, SpinBudget(UsableCpuCount()).count() > 0 ? "50 us" : "off", at(0.5),
              at(0.99), micros.back());
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  hearth::Run(hearth::Parse(argc, argv));
  return 0;
}
