#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace hearth {

// Key of config.json whose object turns the shape in it into a synthetic model.
inline constexpr char kSyntheticKey[] = "hearth_synthetic";

// How the numbers of a synthetic model are drawn and stored. Bits are those of EXL3 (MUL1); everything that a real
// pack leaves unquantized is plain here, too.
struct SyntheticSettings {
  uint64_t seed = 1;
  int expert_bits = 3;
  int attention_bits = 5;
  int shared_bits = 5;
  int dense_bits = 4;
  int head_bits = 6;
  // An expert's share of the picks falls as (rank among the layer's experts) ^ -router_zipf.
  double router_zipf = 0;
  // Rms of a routed expert's output for an input of rms 1 (before the activation's own losses). Random layers amplify:
  // from about 0.02 on a pick that flips for a rounding error makes others flip, which trained models do not do.
  double expert_gain = 0.01;
};

// Reads the object `hearth_synthetic` of a config.json. Refuses a missing object, unknown keys and values out of range,
// by name.
Result<SyntheticSettings> ParseSyntheticSettings(const std::string& config_text);

}  // namespace hearth
