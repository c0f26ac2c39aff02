#pragma once

#include "gpu_worker/scheduler/request.h"

namespace hearth {

// One line for a request that has ended, however it did.
void LogRequest(const RequestSpec& spec, const Outcome& outcome);
// One more for a request that had ended when its client was cut off for not reading.
void LogNotRead(const RequestSpec& spec);

}  // namespace hearth
