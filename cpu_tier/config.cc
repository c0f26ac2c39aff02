#include "cpu_tier/config.h"

#include <algorithm>
#include <vector>

#include "common/base/cpu_info.h"

namespace hearth {
namespace {

bool NamesACpuTwice(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  return std::adjacent_find(cpus.begin(), cpus.end()) != cpus.end();
}

}  // namespace

void CpuTierConfig::Validate(Problems& p) const {
  p.Require(cpus == "auto" || !ParseCpuList(cpus).empty(), "--ct-cpus", cpus, "auto, or a list such as 2-9,12");
  // Two threads pinned to one CPU halve the speed of both, and a job waits for its slowest unit.
  p.Require(!NamesACpuTwice(ParseCpuList(cpus)), "--ct-cpus", cpus,
            "each CPU once; --ct-threads above their number puts several threads on a CPU");
  p.Require(!threads || (*threads >= 1 && *threads <= 1024), "--ct-threads", threads, "1 to 1024, or auto");
}

}  // namespace hearth
