#include "cpu_tier/config.h"

#include "common/base/cpu_info.h"

namespace hearth {

void CpuTierConfig::Validate(Problems& p) const {
  p.Require(cpus == "auto" || !ParseCpuList(cpus).empty(), "--ct-cpus", cpus, "auto, or a list such as 2-9,12");
  p.Require(!threads || (*threads >= 1 && *threads <= 1024), "--ct-threads", threads, "1 to 1024, or auto");
}

}  // namespace hearth
