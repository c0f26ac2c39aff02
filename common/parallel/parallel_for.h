#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace hearth {

namespace internal {
void RunParallelFor(int64_t n, const std::function<void(int64_t begin, int64_t end)>& body);
}

// Calls f(i) for every i in [0, n), in any order and on any thread; returns when all are done. Loops may be nested.
// When a call throws, no further index is begun and one of the exceptions is thrown here. f(i) must not depend on other
// indices.
template <typename F>
void ParallelFor(int64_t n, F&& f) {
  internal::RunParallelFor(n, [&f](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

// Calls both, on any threads; otherwise like ParallelFor.
template <typename F, typename G>
void ParallelInvoke(F&& f, G&& g) {
  ParallelFor(2, [&](int64_t i) { i == 0 ? f() : g(); });
}

// A fixed number of threads for loops that must not mix with others: a thread that waits for the end of such a loop
// takes no work of any other loop. While a team exists, all loops of the process together use no more than its threads.
class ParallelTeam {
 public:
  explicit ParallelTeam(int threads);  // the caller included; at least 1
  ~ParallelTeam();
  ParallelTeam(const ParallelTeam&) = delete;
  ParallelTeam& operator=(const ParallelTeam&) = delete;

  int threads() const { return threads_; }
  // body(begin, end) for ranges that cover [0, n); a range is split only while it is longer than `grain`.
  void Run(int64_t n, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

 private:
  struct Impl;
  int threads_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
