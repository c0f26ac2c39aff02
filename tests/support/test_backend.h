#pragma once

#include "kernels/backend.h"
#ifdef HEARTH_TEST_CUDA
#include "kernels/cuda_backend.h"
#endif

namespace hearth::testing {

#ifdef HEARTH_TEST_CUDA
inline constexpr bool kOnGpu = true;
#else
inline constexpr bool kOnGpu = false;
#endif

// What a test of the graph runs on: the GPU in programs built for it, else the best of the host.
inline const kernels::Backend& TestBackend() {
#ifdef HEARTH_TEST_CUDA
  return kernels::CudaBackend();
#else
  return kernels::HostHasAvx2() ? kernels::Avx2Backend() : kernels::RefBackend();
#endif
}

}  // namespace hearth::testing
