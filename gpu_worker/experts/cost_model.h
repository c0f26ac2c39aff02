#pragma once

#include <cstdint>

namespace hearth {

// What an expert costs in each lane, in seconds:
//   GPU lane   hits * t_hit + pcie * t_zc
//   CPU lane   a + b * sum over experts of (1 + tok * (picks - 1))
// and late for a step that uses the CPU lane, whichever lane ends first.
struct CostConstants {
  double t_hit = 20e-6;
  double t_zc = 200e-6;
  double a = 50e-6;  // handing a job over and back
  double b = 100e-6;
  double tok = 0.3;  // a further pick of the same expert, relative to the first
  double late = 0;   // what jobs that miss their deadline add to a job on average
};

inline double CpuWeight(const CostConstants& c, int picks) { return 1 + c.tok * (picks - 1); }
inline double CpuSeconds(const CostConstants& c, double weight) { return weight > 0 ? c.a + c.b * weight : 0; }

// Keeps the constants true to what is observed: moving averages over some tens of steps.
class CostModel {
 public:
  explicit CostModel(const CostConstants& start) : start_(start), now_(start) {}

  const CostConstants& now() const { return now_; }

  void ObserveHits(int experts, double seconds);
  void ObservePcie(int experts, double seconds);
  // `daemon_seconds`: what the daemon says it took. `total_seconds`: from publishing to the done flag, 0 when unknown.
  void ObserveCpu(double weight, double daemon_seconds, double total_seconds);
  // A job given up after `seconds`, whose `experts` the GPU then had to compute after all, across PCIe as a rule.
  void ObserveLateCpu(double weight, double seconds, int experts);
  // A step that could have used the CPU lane and did not. A bad spell must not bar the lane for ever: its
  // constants slowly fall back towards their start, so the lane is tried again.
  void ObserveIdleCpu();

 private:
  CostConstants start_, now_;
};

}  // namespace hearth
