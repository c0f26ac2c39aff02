#pragma once

#include "kernels/cuda/cuda_check.h"
#include "kernels/real.h"

namespace hearth::kernels::cuda {

// The most residual streams that a thread keeps at once.
constexpr int kMaxStreams = 16;

inline void CheckStreams(Dim hc) {
  if (hc > kMaxStreams)
    DieOfCuda(cudaErrorInvalidValue, "mixer: hc_mult is above 16, the most that the CUDA kernels take");
}

}  // namespace hearth::kernels::cuda
