#include "kernels/cuda/multiprocessors.h"

#include "kernels/cuda/cuda_check.h"

namespace hearth::kernels::cuda {

int Multiprocessors() {
  static const int count = [] {
    int device = 0, value = 0;
    CudaOrDie(cudaGetDevice(&device), "cudaGetDevice");
    CudaOrDie(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return value;
  }();
  return count;
}

}  // namespace hearth::kernels::cuda
