#include "kernels/cuda_backend.h"

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/cuda_memory_ops.h"
#include "kernels/cuda/kernel_image.h"
#include "kernels/cuda_ops.h"

namespace hearth::kernels {
namespace {

// Below it there is neither mma with 16-bit operands in the shapes used nor cp.async.
constexpr int kLeastMajor = 8;

Backend MakeCudaBackend() {
  CudaOrDie(cudaSetDevice(0), "cudaSetDevice");
  cudaStream_t stream = nullptr;
  int least = 0, greatest = 0;
  CudaOrDie(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  CudaOrDie(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "cudaStreamCreate");
  Backend b;
  b.name = "cuda";
  b.stream = stream;
  b.memory = &CudaMemoryOps();
  b.streams = &CudaStreamOps();
#define HEARTH_SET_OP(entry, function, arguments) b.entry = cuda::function;
  HEARTH_OPS(HEARTH_SET_OP)
#undef HEARTH_SET_OP
  b.expert_batch = cuda::ExpertBatch;
  return b;
}

}  // namespace

std::string CudaProblem() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is absent or older than this build's CUDA; install or update it";
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return "there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it; use --device host";
  }
  if (error != cudaSuccess) return std::string("CUDA does not start: ") + cudaGetErrorString(error);
  cudaDeviceProp prop;
  CudaOrDie(cudaGetDeviceProperties(&prop, 0), "cudaGetDeviceProperties");
  const std::string what = std::string(prop.name) + " (compute capability " + std::to_string(prop.major) + "." +
                           std::to_string(prop.minor) + ")";
  if (prop.major < kLeastMajor) return what + " is older than 8.0, which the kernels need; use --device host";
  if (!prop.canMapHostMemory || !prop.unifiedAddressing) {
    return what + " cannot read host memory in place, which zero-copy experts need; use --device host";
  }
  return cuda::KernelImageProblem(cuda::LoadKernelImage(), what);
}

CudaDevice DescribeCudaDevice() {
  cudaDeviceProp prop;
  CudaOrDie(cudaGetDeviceProperties(&prop, 0), "cudaGetDeviceProperties");
  CudaDevice device;
  device.name = prop.name;
  device.major = prop.major;
  device.minor = prop.minor;
  device.multiprocessors = prop.multiProcessorCount;
  size_t free_bytes = 0, total_bytes = 0;
  CudaOrDie(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  device.total_bytes = total_bytes;
  device.free_bytes = free_bytes;
  return device;
}

const Backend& CudaBackend(PrefillOperands operands) {
  static const Backend backend = MakeCudaBackend();
  static const Backend two_terms = [] {
    Backend b = backend;
    b.linear = cuda::LinearF16x2;
    b.expert_batch = cuda::ExpertBatchF16x2;
    return b;
  }();
  return operands == PrefillOperands::kF16 ? backend : two_terms;
}

}  // namespace hearth::kernels
