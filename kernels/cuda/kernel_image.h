#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace hearth::kernels::cuda {

// Takes the device into use and loads a kernel of this build there, as the first launch would.
cudaError_t LoadKernelImage();

// The words of LoadKernelImage's answer for the card `what` ("NAME (compute capability 9.0)"); "" for success.
std::string KernelImageProblem(cudaError_t error, const std::string& what);

}  // namespace hearth::kernels::cuda
