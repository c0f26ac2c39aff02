#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace hearth {

// What the exactness part demands. Each function says in a sentence what is wrong, and nothing when all is well.

// Two runs of the same tokens.
struct AnswerDifference {
  double logits_rms = 0;
  double picks_equal = 1;  // share
};
std::string WhyNotRepeated(const AnswerDifference& difference);  // of exact: nothing may differ
std::string WhyTooFar(const std::string& name, const AnswerDifference& difference);

// What a step waited for the CPU lane after its own work, and for how many jobs.
struct CpuWait {
  double seconds = 0;
  uint64_t jobs = 0;
};
// `job_seconds`: the longest that a job may take.
std::string WhyLate(std::span<const CpuWait> steps, double job_seconds);

}  // namespace hearth
