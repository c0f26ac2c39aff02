#pragma once

#include <string>

#include "cpu_tier/thread_team.h"
#include "kernels/backend.h"

namespace hearth {

struct SelfTestReport {
  bool passed = false;
  double worst_relative_error = 0;  // largest difference over the largest value of the truth
  std::string detail;               // where

  std::string Summary() const { return passed ? "passed" : "failed: " + detail; }
};

// Runs a random expert of every K and codebook through the daemon's own path and compares with the scalar reference.
SelfTestReport RunSelfTest(const kernels::Backend& backend, ThreadTeam& team);

}  // namespace hearth
