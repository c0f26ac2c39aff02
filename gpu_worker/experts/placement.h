#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_worker/experts/cost_model.h"
#include "gpu_worker/experts/executor_options.h"

namespace hearth {

// Where an expert of a decode step runs.
enum class Source : uint8_t { kHit, kAhead, kPcie, kCpu };

// One expert of a step, as placement sees it.
struct PlacementInput {
  int picks = 1;
  bool resident = false;  // its bytes are in a slot
  bool ahead = false;     // not resident, but its bytes were fetched ahead
  bool admitted = false;  // a slot was assigned in this step, so its bytes cross PCIe anyway
  double score = 0;       // the cache's pick frequency; colder experts go to the CPU first
};

struct PlacementRules {
  CpuLaneMode cpu_lane = CpuLaneMode::kAuto;
  bool cpu_up = false;
};

// One source per expert, in the order given. Pure. kAuto splits the misses so that the slower lane ends as early as
// possible; kAlways sends everything to the CPU while it is up; without the CPU lane a step is hits and PCIe misses.
// What was fetched ahead costs what a hit costs.
std::vector<Source> Place(std::span<const PlacementInput> experts, const CostConstants& cost,
                          const PlacementRules& rules);

}  // namespace hearth
