#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hearth {

// What the machine offers this process.
struct CpuOffer {
  std::vector<int> allowed;  // logical CPUs of the cpuset
  std::vector<int> cores;    // one logical CPU of each physical core among them
  int usable = 1;            // CPUs' worth of time: cpuset and quota
};

struct CpuChoice {
  std::vector<int> cpus;  // one for each thread, repeated when there are more threads than CPUs
  bool pinned = false;    // threads stay on their CPU
};

CpuOffer OfferOfThisMachine();

// Pure. `list` is "auto" or a kernel CPU list. auto: the physical cores without the first two, no more than the quota,
// at least one; on 4 CPUs or fewer nothing is pinned, since there the worker needs every core as well. Throws
// StartupError for a list that names CPUs outside the cpuset.
CpuChoice ChooseCpus(const CpuOffer& offer, const std::string& list, std::optional<int> threads);

}  // namespace hearth
