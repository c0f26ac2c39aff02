#include "kernels/cuda/kernel_image.h"

#include <gtest/gtest.h>

namespace hearth::kernels::cuda {
namespace {

bool Says(cudaError_t error, const char* words) {
  return KernelImageProblem(error, "A CARD (compute capability 9.0)").find(words) != std::string::npos;
}

TEST(KernelImage, EachReasonNamesTheCardAndWhatHelps) {
  EXPECT_EQ(KernelImageProblem(cudaSuccess, "A CARD"), "");
  for (const cudaError_t error :
       {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction, cudaErrorUnsupportedPtxVersion,
        cudaErrorMemoryAllocation, cudaErrorDevicesUnavailable}) {
    EXPECT_TRUE(Says(error, "A CARD (compute capability 9.0)")) << error;
    EXPECT_TRUE(Says(error, "--device host")) << error;
    EXPECT_FALSE(Says(error, "\n")) << error;
  }
  EXPECT_TRUE(Says(cudaErrorNoKernelImageForDevice, "no machine code"));
  EXPECT_TRUE(Says(cudaErrorNoKernelImageForDevice, "HEARTH_CUDA_ARCHITECTURES"));
  EXPECT_TRUE(Says(cudaErrorMemoryAllocation, "nvidia-smi"));
}

}  // namespace
}  // namespace hearth::kernels::cuda
