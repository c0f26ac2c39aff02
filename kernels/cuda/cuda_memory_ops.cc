#include "kernels/cuda/cuda_memory_ops.h"

#include "kernels/cuda/copy_pieces.h"
#include "kernels/cuda/cuda_check.h"

namespace hearth::kernels {
namespace {

cudaStream_t Stream(void* stream) { return static_cast<cudaStream_t>(stream); }

// Running out of memory is the caller's to report; the error must not stay behind for the next launch check.
void* OrNull(cudaError_t error, void* memory, const char* what) {
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  CudaOrDie(error, what);
  return memory;
}

void* Allocate(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
  return OrNull(error, memory, "cudaMalloc");
}
void* AllocateZeroed(size_t bytes) {
  void* memory = Allocate(bytes);
  if (memory != nullptr) {
    CudaOrDie(cudaMemset(memory, 0, bytes), "cudaMemset");
    CudaOrDie(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // streams here do not wait for the default one
  }
  return memory;
}
void Release(void* memory) { CudaOrDie(cudaFree(memory), "cudaFree"); }
void* AllocateHost(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaHostAlloc(&memory, bytes > 0 ? bytes : 1, cudaHostAllocDefault);
  return OrNull(error, memory, "cudaHostAlloc");
}
void ReleaseHost(void* memory) { CudaOrDie(cudaFreeHost(memory), "cudaFreeHost"); }

// The same address on both sides, so that views into host memory are valid on the device as they are.
std::string RegisterHost(void* memory, size_t bytes) {
  const cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return std::string("cudaHostRegister refused ") + std::to_string(bytes >> 20) +
           " MiB: " + cudaGetErrorString(error);
  }
  void* device = nullptr;
  CudaOrDie(cudaHostGetDevicePointer(&device, memory, 0), "cudaHostGetDevicePointer");
  if (device == memory) return "";
  CudaOrDie(cudaHostUnregister(memory), "cudaHostUnregister");
  return "this GPU sees registered host memory under another address than the host does, so it cannot read experts in "
         "place";
}
void UnregisterHost(void* memory) { CudaOrDie(cudaHostUnregister(memory), "cudaHostUnregister"); }

void Zero(void* stream, void* to, size_t bytes) {
  if (bytes > 0) CudaOrDie(cudaMemsetAsync(to, 0, bytes, Stream(stream)), "cudaMemsetAsync");
}
void Transfer(void* stream, void* to, const void* from, size_t bytes) {
  if (bytes > 0) CudaOrDie(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, Stream(stream)), "cudaMemcpyAsync");
}
void Synchronize(void* stream) { CudaOrDie(cudaStreamSynchronize(Stream(stream)), "cudaStreamSynchronize"); }

cudaEvent_t Event(void* mark) { return static_cast<cudaEvent_t>(mark); }

// Below the backend's own stream, whose short kernels come first wherever a block has ended.
void* MakeStream() {
  int least = 0, greatest = 0;
  CudaOrDie(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  CudaOrDie(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, least), "cudaStreamCreate");
  return stream;
}
void ReleaseStream(void* stream) { CudaOrDie(cudaStreamDestroy(Stream(stream)), "cudaStreamDestroy"); }
void* MakeMark() {
  cudaEvent_t event = nullptr;
  CudaOrDie(cudaEventCreate(&event), "cudaEventCreate");
  return event;
}
void ReleaseMark(void* mark) { CudaOrDie(cudaEventDestroy(Event(mark)), "cudaEventDestroy"); }
void Record(void* stream, void* mark) { CudaOrDie(cudaEventRecord(Event(mark), Stream(stream)), "cudaEventRecord"); }
void Wait(void* stream, void* mark) {
  CudaOrDie(cudaStreamWaitEvent(Stream(stream), Event(mark), 0), "cudaStreamWaitEvent");
}
void Finish(void* mark) { CudaOrDie(cudaEventSynchronize(Event(mark)), "cudaEventSynchronize"); }
double Seconds(void* from, void* to) {
  float milliseconds = 0;
  CudaOrDie(cudaEventElapsedTime(&milliseconds, Event(from), Event(to)), "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

}  // namespace

const MemoryOps& CudaMemoryOps() {
  static const MemoryOps ops{.is_host = false,
                             .allocate = Allocate,
                             .allocate_zeroed = AllocateZeroed,
                             .release = Release,
                             .allocate_host = AllocateHost,
                             .release_host = ReleaseHost,
                             .register_host = RegisterHost,
                             .unregister_host = UnregisterHost,
                             .zero = Zero,
                             .copy = Transfer,
                             .upload = Transfer,
                             .download = Transfer,
                             .copy_pieces = cuda::CopyPieces,
                             .synchronize = Synchronize};
  return ops;
}

const StreamOps& CudaStreamOps() {
  static const StreamOps ops{.make_stream = MakeStream,
                             .release_stream = ReleaseStream,
                             .make_mark = MakeMark,
                             .release_mark = ReleaseMark,
                             .record = Record,
                             .wait = Wait,
                             .finish = Finish,
                             .seconds = Seconds};
  return ops;
}

}  // namespace hearth::kernels
