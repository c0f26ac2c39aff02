#pragma once

#include <string>

#include "gpu_worker/config.h"
#include "gpu_worker/settings.h"

namespace hearth {

// Pure. A sentence for the log when the machine is too small for the CPU tier to gain much; "" when there is nothing to
// say. `cores`: physical cores that this process may use.
std::string ModeAdvice(const WorkerConfig& config, const ChosenKernels& kernels, int cores);

// Logs the advice for this machine, if there is any.
void LogModeAdvice(const WorkerConfig& config, const ChosenKernels& kernels);

}  // namespace hearth
