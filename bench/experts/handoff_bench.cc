#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "common/base/cpu_info.h"
#include "common/ipc/wait_strategy.h"
#include "cpu_tier/job_loop.h"
#include "gpu_worker/experts/link_lane.h"
#include "tests/support/tiny_home.h"

// Hand-off of a job that computes nothing: published by the worker's lane, found by cpu_tier's loop, run through its
// threads, seen by the worker. Both sides are threads of this process over a region on tmpfs, which is the same memory
// and the same futexes as between two processes.
//   handoff_bench [--jobs N] [--gap-us N] [--threads N] [--cpus LIST]
// --gap-us is the pause between jobs: beyond 50 us the daemon's threads have gone to sleep.

namespace hearth {
namespace {

// As many units as an expert of the real shape has, and no work.
class EmptyKernel final : public kernels::ExpertKernel {
 public:
  const char* name() const override { return "empty"; }
  kernels::Dim ScratchBytes(const kernels::MlpView&, kernels::Dim) const override { return 64; }
  kernels::Dim Units(const kernels::MlpView&, kernels::Dim, kernels::ExpertPhase phase) const override {
    return phase == kernels::ExpertPhase::kRotateIn ? 1 : 0;
  }
  void Run(const kernels::ExpertFfnArgs&, kernels::ExpertPhase, kernels::Dim, void*) const override {}
};

struct Options {
  int jobs = 20000, gap_us = 0, threads = 1;
  std::string cpus = "auto";
};

Options Parse(int argc, char** argv) {
  const option table[] = {{"jobs", 1, nullptr, 'j'},
                          {"gap-us", 1, nullptr, 'g'},
                          {"threads", 1, nullptr, 't'},
                          {"cpus", 1, nullptr, 'c'},
                          {nullptr, 0, nullptr, 0}};
  Options o;
  for (int c = 0; (c = getopt_long(argc, argv, "", table, nullptr)) != -1;) {
    if (c == 'j') o.jobs = std::max(100, std::atoi(optarg));
    if (c == 'g') o.gap_us = std::max(0, std::atoi(optarg));
    if (c == 't') o.threads = std::max(1, std::atoi(optarg));
    if (c == 'c') o.cpus = optarg;
    if (c == '?') std::exit(2);
  }
  return o;
}

void Run(const Options& o) {
  const testing::TinyHome tiny({.layers = 1, .experts = 8, .hidden = 4096, .width = 128});
  const HomeView home = tiny.view();
  LinkIdentity identity;
  identity.fingerprint = home.fingerprint();
  identity.layers = home.layers();
  identity.experts = home.experts();
  identity.worker_pid = ::getpid();
  identity.worker_instance = identity.attachment = 1;
  const LinkGeometry geometry{.hidden = 4096, .max_rows = 8, .max_picks = 64, .max_experts = 8, .slots = 4};
  const auto region = *LinkAttachment::Create("/dev/shm", geometry, identity, kernels::HostMemoryOps());
  region->Unlink();
  LinkLane lane;
  lane.Attach(region);
  TierCounters counters;
  const EmptyKernel kernel;
  ThreadTeam team(ChooseCpus(OfferOfThisMachine(), o.cpus, o.threads));
  const JobLoop loop(home, region->view(), kernel, team, counters);

  const std::vector<float> x(4096, 1);
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
  std::printf("%d jobs, %d threads, gap %d us, spinning %s: p50 %.1f us  p99 %.1f us  worst %.0f us\n", o.jobs,
              o.threads, o.gap_us, SpinBudget(UsableCpuCount()).count() > 0 ? "50 us" : "off", at(0.5), at(0.99),
              micros.back());
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  hearth::Run(hearth::Parse(argc, argv));
  return 0;
}
