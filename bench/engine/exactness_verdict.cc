#include "bench/engine/exactness_verdict.h"

#include "common/base/status.h"

namespace hearth {
namespace {

constexpr double kMostRms = 5e-3, kLeastEqual = 0.98;
constexpr double kSlack = 2e-3;  // s: a thread is not always back on its CPU at the moment that it asked for

}  // namespace

// Written so that what is no number fails, too.

std::string WhyNotRepeated(const AnswerDifference& d) {
  if (d.logits_rms == 0 && d.picks_equal == 1) return "";
  return StrCat("exact gave other logits the second time, ", d.logits_rms, " rms apart, ", 100 * d.picks_equal,
                " % of the picks equal; it promises the same bits");
}

std::string WhyTooFar(const std::string& name, const AnswerDifference& d) {
  if (d.logits_rms <= kMostRms && d.picks_equal >= kLeastEqual) return "";
  return StrCat(name, ": logits ", d.logits_rms, " rms from exact, ", 100 * d.picks_equal, " % of the picks equal; ",
                "expected at most ", kMostRms, " and at least ", 100 * kLeastEqual, " %");
}

std::string WhyLate(std::span<const CpuWait> steps, double job_seconds) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const double most = static_cast<double>(steps[i].jobs) * (job_seconds + kSlack);
    if (steps[i].seconds <= most) continue;
    return StrCat("step ", i, " waited ", 1e3 * steps[i].seconds,
                  " ms for the CPU lane, past its deadline: ", steps[i].jobs, " jobs may take ", 1e3 * most, " ms");
  }
  return "";
}

}  // namespace hearth
