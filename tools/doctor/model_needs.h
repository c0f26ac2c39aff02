#pragma once

#include <string>

#include "tools/doctor/checks.h"

namespace hearth::doctor {

inline constexpr char kElsewhere[] = "elsewhere";

struct ModelQuery {
  std::string model;  // folder of a checkpoint, or synthetic:FILE.json
  std::string home_dir;
  std::string tokenizer_dir;  // the gateway's; "": the model's own, kElsewhere: not asked for here
  bool on_gpu = false;        // dense weights go to the device instead of host memory
};

// What the model asks for, from its headers, as the worker would sum it up, and why worker or gateway would refuse it;
// where there is none, what the model that is downloaded by default asks for.
ModelNeeds ReadModelNeeds(const ModelQuery& query);

// GLM-5.3-Flash at 3.05 bits, less what a download that was cut off has left there.
ModelNeeds DefaultModelNeeds(const std::string& model_dir, bool on_gpu);

}  // namespace hearth::doctor
