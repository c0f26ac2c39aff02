#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hearth {

// What the machine offers this process.
struct CpuOffer {
  std::vector<int> allowed;  // logical CPUs of the cpuset
  std::vector<int> cores;    // one logical CPU of each physical core among them
  std::vector<int> first;    // logical CPUs of the machine's first two physical cores, in the cpuset or not
  int usable = 1;            // CPUs' worth of time: cpuset and quota
};

struct CpuChoice {
  std::vector<int> cpus;  // one for each thread, repeated when there are more threads than CPUs
  bool pinned = false;    // threads stay on their CPU
};

CpuOffer OfferOfThisMachine();

// Pure. `list` is "auto" or a kernel CPU list. auto: the physical cores of the cpuset that are not among the machine's
// first two, no more than the quota, at least one; on 4 CPUs or fewer nothing is pinned, since there the worker needs
// every core as well. Throws StartupError for a list that names CPUs outside the cpuset.
CpuChoice ChooseCpus(const CpuOffer& offer, const std::string& list, std::optional<int64_t> threads);

}  // namespace hearth
