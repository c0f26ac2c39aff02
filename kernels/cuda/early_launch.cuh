#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.h"

// The kernels of a decode step take microseconds, and so does starting one after the end of another. A kernel launched
// by LaunchEarly is set up while the one before it on the stream still runs (programmatic dependent launch, compute
// capability 9.0 and later); what needs nothing of the kernels before, such as fetching weights, it may do at once.
namespace hearth::kernels::cuda {

// Every thread of a kernel that is launched early calls this before it reads or writes anything that another kernel
// touches, and before it ends: all kernels before have ended and their writes are seen. From then on the next kernel
// may be set up. Does nothing in a kernel that was launched the ordinary way.
__device__ inline void AwaitKernelsBefore() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

template <typename... Parameters, typename... Arguments>
void LaunchEarly(const char* name, void (*kernel)(Parameters...), dim3 grid, unsigned threads, size_t shared,
                 cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = EarlyLaunch() ? 1 : 0;
  CudaOrDie(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name);
}

}  // namespace hearth::kernels::cuda
