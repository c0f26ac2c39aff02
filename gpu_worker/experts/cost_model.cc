#include "gpu_worker/experts/cost_model.h"

#include <algorithm>

namespace hearth {
namespace {

constexpr double kBlend = 1.0 / 16;
constexpr double kLateBlend = 1.0 / 256;  // late jobs are rare and dear
constexpr double kIdleBlend = 1.0 / 4096;
constexpr double kLeast = 1e-7;

void Blend(double& value, double observed, double blend = kBlend) {
  value += blend * (std::max(observed, kLeast) - value);
}

}  // namespace

void CostModel::ObserveHits(int experts, double seconds) {
  if (experts > 0) Blend(now_.t_hit, seconds / experts);
}

void CostModel::ObservePcie(int experts, double seconds) {
  if (experts > 0) Blend(now_.t_zc, seconds / experts);
}

void CostModel::ObserveCpu(double weight, double daemon_seconds, double total_seconds) {
  if (weight <= 0) return;
  Blend(now_.late, 0, kLateBlend);
  Blend(now_.b, daemon_seconds / weight);
  if (total_seconds > 0) Blend(now_.a, total_seconds - daemon_seconds);
}

void CostModel::ObserveLateCpu(double weight, double seconds, int experts) {
  if (weight <= 0) return;
  Blend(now_.late, seconds + experts * now_.t_zc - CpuSeconds(now_, weight), kLateBlend);
}

void CostModel::ObserveIdleCpu() {
  if (now_.b > start_.b) Blend(now_.b, start_.b, kIdleBlend);
  if (now_.a > start_.a) Blend(now_.a, start_.a, kIdleBlend);
  Blend(now_.late, 0, kIdleBlend);
}

}  // namespace hearth
