#pragma once

#include "gpu_worker/experts/cpu_tier_client.h"
#include "gpu_worker/experts/lane_stats.h"
#include "gpu_worker/scheduler/output.h"

namespace hearth::v1 {
class EngineStats;
}

namespace hearth {

// The executor's figures in the words of the protocol and of the scheduler.
void AddExpertStats(const LaneSnapshot& figures, v1::EngineStats& stats);
void AddTierState(const CpuTierState& state, v1::EngineStats& stats);
LanePicks PicksOf(const LaneSnapshot& figures);

}  // namespace hearth
