#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hearth::bench {

// A kernel CPU list such as 2-9,12; ends the program when it is none.
std::vector<int> ParseCpus(const std::string& list);

// Pinned threads that do a thing each, together. Without `cpus` they take one logical CPU of each physical core first.
class BenchThreads {
 public:
  BenchThreads(int threads, const std::vector<int>& cpus);
  ~BenchThreads();
  int threads() const { return static_cast<int>(threads_.size()); }
  // work(thread) on all of them. Seconds from the common start to the last end; of CPU time for a single thread, so
  // that a busy machine does not show.
  double Run(const std::function<void(int)>& work);

 private:
  void Loop(int index, int cpu);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  uint64_t round_ = 0;
  int running_ = 0;
  bool stop_ = false;
  double cpu_seconds_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace hearth::bench
