#pragma once

namespace hearth::kernels::cuda {

// Of the GPU in use. It may choose shapes of launches, never an order of sums.
int Multiprocessors();

}  // namespace hearth::kernels::cuda
