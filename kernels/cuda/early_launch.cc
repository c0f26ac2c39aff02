#include "kernels/cuda/early_launch.h"

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_check.h"

namespace hearth::kernels::cuda {

bool EarlyLaunch() {
  static const bool early = [] {
    int device = 0, major = 0;
    CudaOrDie(cudaGetDevice(&device), "cudaGetDevice");
    CudaOrDie(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
    return major >= 9;
  }();
  return early;
}

}  // namespace hearth::kernels::cuda
