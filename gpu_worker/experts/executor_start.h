#pragma once

#include <chrono>
#include <cstdint>

#include "common/expert_home/home_view.h"
#include "gpu_worker/experts/cost_model.h"
#include "gpu_worker/experts/executor_options.h"
#include "kernels/backend.h"

namespace hearth {

// What an executor settles before its first step.

// Slots that fit the limits of the options: at most one per expert.
int32_t PlanSlots(const ExecutorOptions& options, uint64_t experts, uint64_t record_bytes);

// Cost constants: the options' where set, else measured by running one expert.
CostConstants StartConstants(const HomeView& home, const kernels::Backend& backend, const ExecutorOptions& options);

// How long a CPU job of this predicted length may take on a host of so many usable CPUs.
std::chrono::microseconds CpuBudget(const ExecutorOptions& options, double predicted_seconds, int usable_cpus);

}  // namespace hearth
