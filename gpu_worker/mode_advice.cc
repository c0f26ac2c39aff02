#include "gpu_worker/mode_advice.h"

#include "common/base/cpu_info.h"
#include "common/base/status.h"
#include "common/log/log.h"

namespace hearth {
namespace {

constexpr int kCoresThatHelp = 12;

}  // namespace

std::string ModeAdvice(const WorkerConfig& config, const ChosenKernels& kernels, int cores) {
  if (kernels.on_host() || config.exact() || !UsesCpuTier(config) || cores >= kCoresThatHelp) return "";
  // The worker does not know the cpuset of a tier in a container of its own.
  return StrCat("this process may use ", cores, " physical cores, and with fewer than about ", kCoresThatHelp,
                " the CPU tier gains little: unless it has more cores of its own, --mode exact is about as fast and "
                "gives the same bits always");
}

void LogModeAdvice(const WorkerConfig& config, const ChosenKernels& kernels) {
  const std::string advice = ModeAdvice(config, kernels, UsableCoreCount());
  if (!advice.empty()) Log(LogLevel::kInfo, "advice", {{"text", advice}});
}

}  // namespace hearth
