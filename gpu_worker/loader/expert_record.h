#pragma once

#include <cstddef>
#include <string>

#include "common/expert_home/home_layout.h"
#include "gpu_worker/loader/expert_plan.h"

namespace hearth {

// Reads one expert from the checkpoint into its record and its scale vectors, `base` being the start of the home.
void FillExpert(const TensorSource& source, const ExpertPlan& plan, const HomeExpert& entry, std::byte* record,
                std::byte* base);

// Reads the expert again and compares it with what the home has. Says what differs, "" when nothing does.
std::string CompareExpert(const TensorSource& source, const ExpertPlan& plan, const HomeExpert& entry,
                          const std::byte* record, const std::byte* base);

// Differs when the checkpoint's bytes of the expert may have changed.
uint64_t ExpertStamp(const TensorSource& source, const ExpertPlan& plan);

}  // namespace hearth
