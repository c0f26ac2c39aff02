#pragma once

#include <string>
#include <vector>

#include "common/expert_home/home_layout.h"
#include "gpu_worker/loader/matrix_plan.h"
#include "gpu_worker/model/model_config.h"

namespace hearth {

struct ExpertPlan {
  MatrixPlan gate, up, down;
};

// All routed experts, [moe layer * n_routed_experts + expert], found and checked. Refuses a model without any.
std::vector<ExpertPlan> PlanExperts(const ModelConfig& config, MatrixPlanner& planner);

// Header and directory of the home that holds these experts, complete except for checksums and `complete`. A plain
// matrix keeps the type that it has in the checkpoint. The fingerprint covers `source_fingerprint`, the layout version
// and the geometry.
struct HomePlan {
  HomeHeader header;
  std::vector<HomeExpert> directory;
};
HomePlan PlanHome(const ModelConfig& config, const std::vector<ExpertPlan>& experts,
                  const std::string& source_fingerprint);

// Bytes of the checkpoint that filling the home reads.
uint64_t ExpertBytes(const std::vector<ExpertPlan>& experts);

}  // namespace hearth
