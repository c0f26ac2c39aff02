#pragma once

#include <string>

#include "cpu_tier/thread_team.h"
#include "kernels/expert_ffn/expert_kernel.h"

namespace hearth {

struct SelfTestReport {
  bool passed = false;
  double worst_relative_error = 0;  // largest difference over the largest value of the truth
  std::string detail;               // where

  std::string Summary() const { return passed ? "passed" : "failed: " + detail; }
};

// Runs a random expert of every K and codebook through the daemon's own path and compares with the plain loops of the
// same arithmetic.
SelfTestReport RunSelfTest(const kernels::ExpertKernel& kernel, kernels::ExpertArithmetic arithmetic, ThreadTeam& team);

}  // namespace hearth
