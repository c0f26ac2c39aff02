#pragma once

#include <cstdint>

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels {

// Copies each token's embedding into all H streams. ids lie in [0, vocab).
struct EmbedArgs {
  const void* table = nullptr;  // [vocab, hidden] row-major, not in strips
  WeightKind kind = WeightKind::kBf16;
  const int32_t* ids = nullptr;  // [rows]
  Dim rows = 0, hc = 0, hidden = 0;
  Real* streams = nullptr;  // [rows, H, D]
};

}  // namespace hearth::kernels
