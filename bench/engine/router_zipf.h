#pragma once

#include "gpu_worker/model_engine.h"

namespace hearth {

// `router_zipf` of the synthetic model file that `--model` names. Throws StartupError when it names a checkpoint.
double RouterZipfOf(const std::string& model);

// Gives the routers of a loaded synthetic model the biases that its file would give them with another `router_zipf`.
// Nothing else depends on it; the expert home stays. Between steps.
void SetRouterZipf(ModelEngine& engine, const std::string& model, double zipf);

}  // namespace hearth
