#pragma once

#include "gpu_worker/model_engine.h"

namespace hearth {

// What the machine gives at most, measured with the engine's own kernels on records that no cache holds.
struct Ceilings {
  double home_one = 0;    // GB/s, batches of one expert read from the home
  double home_many = 0;   // GB/s, batches of as many as a token picks
  double slots_many = 0;  // GB/s, the same from device memory
  double copy = 0;        // GB/s, copies from the home into device memory
};
// Nothing is taken beside the engine's memory: copies stand where slots of its cache were, which is empty afterwards.
Ceilings MeasureCeilings(ModelEngine& engine);

}  // namespace hearth
