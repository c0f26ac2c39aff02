#pragma once

#include <cuda_runtime_api.h>

namespace hearth::kernels {

// A CUDA error after start is sticky: nothing on this device can be trusted any more. Prints one line and ends the
// process with code 70, so that the supervisor starts a new one; the expert home outlives it.
[[noreturn]] void DieOfCuda(cudaError_t error, const char* what);

inline void CudaOrDie(cudaError_t error, const char* what) {
  if (error != cudaSuccess) DieOfCuda(error, what);
}
// After every launch: a wrong configuration shows at once, a fault inside the kernel at the next call.
inline void LaunchedOrDie(const char* kernel) { CudaOrDie(cudaGetLastError(), kernel); }

}  // namespace hearth::kernels
