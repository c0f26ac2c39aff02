#pragma once

#include <cstdint>

namespace hearth::kernels {

// Prefill and decode rows never share a call: an op may order its sums by phase, never by row count.
enum class Phase : uint8_t { kPrefill, kDecode };

}  // namespace hearth::kernels
