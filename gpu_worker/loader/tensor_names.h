#pragma once

#include <string>

#include "common/base/status.h"

namespace hearth {

inline constexpr char kTextPrefix[] = "model.language_model.";

inline std::string LayerPrefix(int layer) { return StrCat(kTextPrefix, "layers.", layer, "."); }

// Tensors that a checkpoint may have and a text engine never uses: the vision tower and the layers behind the last one
// (blocks that draft tokens).
bool IsSkippedTensor(const std::string& name, int num_hidden_layers);

}  // namespace hearth
