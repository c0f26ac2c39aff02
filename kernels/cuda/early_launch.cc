#include "kernels/cuda/early_launch.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string_view>

#include "kernels/cuda/cuda_check.h"

namespace hearth::kernels::cuda {
namespace {

bool DeviceCan() {
  int device = 0, major = 0;
  CudaOrDie(cudaGetDevice(&device), "cudaGetDevice");
  CudaOrDie(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  return major >= 9;
}

}  // namespace

bool EarlyLaunch() {
  static const bool early = [] {
    const char* wanted = std::getenv("HEARTH_CUDA_EARLY_LAUNCH");
    return wanted != nullptr && std::string_view(wanted) == "1" && DeviceCan();
  }();
  return early;
}

}  // namespace hearth::kernels::cuda
