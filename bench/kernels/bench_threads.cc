#include "bench/kernels/bench_threads.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "common/base/cpu_info.h"

namespace hearth::bench {
namespace {

double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Physical cores first, then their other threads.
std::vector<int> DefaultCpus() {
  const std::vector<int> allowed = AllowedCpus();
  std::vector<int> order = PhysicalCores(allowed);
  for (int cpu : allowed) {
    if (std::find(order.begin(), order.end(), cpu) == order.end()) order.push_back(cpu);
  }
  return order;
}

}  // namespace

std::vector<int> ParseCpus(const std::string& list) {
  const std::vector<int> cpus = ParseCpuList(list);
  if (!cpus.empty()) return cpus;
  std::fprintf(stderr, "expert_bench: --cpus %s: expected a list such as 2-9,12\n", list.c_str());
  std::exit(2);
}

BenchThreads::BenchThreads(int threads, const std::vector<int>& cpus) {
  const std::vector<int> order = cpus.empty() ? DefaultCpus() : cpus;
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, i, cpu = order[static_cast<size_t>(i) % order.size()]] { Loop(i, cpu); });
  }
}

BenchThreads::~BenchThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

double BenchThreads::Run(const std::function<void(int)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  running_ = threads();
  ++round_;
  const auto begin = std::chrono::steady_clock::now();
  changed_.notify_all();
  changed_.wait(lock, [&] { return running_ == 0; });
  if (threads() == 1) return cpu_seconds_;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void BenchThreads::Loop(int index, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
  uint64_t seen = 0;
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const auto* work = work_;
    lock.unlock();
    const double begin = CpuSeconds();
    (*work)(index);
    const double seconds = CpuSeconds() - begin;
    lock.lock();
    cpu_seconds_ = seconds;
    if (--running_ == 0) changed_.notify_all();
  }
}

}  // namespace hearth::bench
