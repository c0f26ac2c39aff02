#pragma once

#include <cstdint>

namespace hearth::kernels::cuda {

// At least `count` counters in device memory, all zero: blocks that share a result count themselves, the last one
// finishes the result and sets its counter back to zero. One set for each stream, whose ops follow each other and
// share it. The counters decide who adds, never in which order.
uint32_t* Arrivals(void* stream, int64_t count);

}  // namespace hearth::kernels::cuda
