#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gpu_worker/loader/matrix_plan.h"
#include "gpu_worker/model/model_config.h"
#include "gpu_worker/model/weights.h"

namespace hearth {

// Everything of a model except its routed experts: memory is set aside and every tensor found and checked, but not
// read yet.
struct PlannedWeights {
  struct Job {
    uint64_t bytes = 0;  // to read
    std::function<void()> run;
  };
  ModelWeights weights;
  std::vector<Job> jobs;
  uint64_t bytes = 0;   // to read
  uint64_t memory = 0;  // set aside
};

// Plain matrices become fp32 strips, the embedding keeps its type. `planner.source()` must outlive the jobs.
PlannedWeights PlanWeights(const ModelConfig& config, MatrixPlanner& planner);

// Runs the jobs on all cores and hands out the weights. `add_bytes` (may be empty) gets what each job has read and must
// be thread-safe.
ModelWeights FillWeights(PlannedWeights planned, const std::function<void(uint64_t)>& add_bytes);

}  // namespace hearth
