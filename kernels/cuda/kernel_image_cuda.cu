#include "kernels/cuda/kernel_image.h"

namespace hearth::kernels::cuda {
namespace {

// All kernels of a build are compiled for the same architectures, so one stands for all.
__global__ void Nothing() {}

}  // namespace

cudaError_t LoadKernelImage() {
  cudaFuncAttributes ignored;
  const cudaError_t error = cudaFuncGetAttributes(&ignored, Nothing);
  if (error != cudaSuccess) cudaGetLastError();  // it must not stay behind for the next launch check
  return error;
}

std::string KernelImageProblem(cudaError_t error, const std::string& what) {
  switch (error) {
    case cudaSuccess:
      return "";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
      return "this build has no machine code for " + what +
             "; build with its architecture in HEARTH_CUDA_ARCHITECTURES, or use --device host";
    case cudaErrorMemoryAllocation:
      return what +
             " has no memory left for a context; end the process that holds it (nvidia-smi names it), or use "
             "--device host";
    default:
      return "CUDA does not start on " + what + ": " + cudaGetErrorString(error) + "; use --device host";
  }
}

}  // namespace hearth::kernels::cuda
