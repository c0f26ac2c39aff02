#pragma once

#include <cstdint>

namespace hearth::kernels {

// The number type of activations and state. float everywhere, except in one test build that compiles the reference
// ops and the model graph with double to compare formulas at 1e-6.
#ifdef HEARTH_REAL_DOUBLE
using Real = double;
#else
using Real = float;
#endif

using Dim = int64_t;

}  // namespace hearth::kernels
