#pragma once

#include <vector>

#include "gateway/worker_client/engine_types.h"

namespace hearth::engine {

// Counters of several workers as one: counts add up; the CPU tier is up when every worker's is, its wait is the mean
// over all jobs, its other words and the load are those of the first. `stats` is not empty.
EngineStats SumStats(const std::vector<EngineStats>& stats);

}  // namespace hearth::engine
