#pragma once

#include "gpu_worker/scheduler/request.h"

namespace hearth {

// One line for a request that has ended, however it did.
void LogRequest(const RequestSpec& spec, const Outcome& outcome);

}  // namespace hearth
