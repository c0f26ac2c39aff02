#pragma once

#include <string>

#include "tools/doctor/checks.h"

namespace hearth::doctor {

// What the checkpoint in `model_dir` asks for, from its headers, as the worker would sum it up; where there is none,
// what the model that is downloaded by default does. `on_gpu`: its dense weights go to the device instead of host
// memory.
ModelNeeds ReadModelNeeds(const std::string& model_dir, const std::string& home_dir, bool on_gpu);

// GLM-5.3-Flash at 3.05 bits, less what a download that was cut off has left there.
ModelNeeds DefaultModelNeeds(const std::string& model_dir, bool on_gpu);

}  // namespace hearth::doctor
