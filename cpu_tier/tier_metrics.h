#pragma once

#include "common/metrics/metrics.h"
#include "cpu_tier/daemon.h"

namespace hearth {

// The daemon's figures under their stable names. Both must outlive the last exposition.
void AddTierMetrics(Metrics& metrics, Daemon& daemon);

}  // namespace hearth
