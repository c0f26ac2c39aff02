#include <chrono>
#include <cuda/atomic>

#include "bench/experts/flag_caller.h"
#include "kernels/cuda/cuda_check.h"

namespace hearth {
namespace {

using kernels::CudaOrDie;

using SystemWord = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Cycles of a multiprocessor, or nanoseconds on the host.
__host__ __device__ uint64_t Ticks() {
#ifdef __CUDA_ARCH__
  return static_cast<uint64_t>(clock64());
#else
  return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
#endif
}

__host__ __device__ uint64_t Nanoseconds() {
#ifdef __CUDA_ARCH__
  uint64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#else
  return Ticks();
#endif
}

struct Spent {
  uint64_t ticks, ns;  // of the whole run: the clock of the ticks is not known beforehand
  uint32_t answered;
};

__host__ __device__ void Call(const FlagCalls& c, uint64_t* ticks, Spent* spent) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const uint64_t begin_ticks = Ticks(), begin_ns = Nanoseconds();
  uint32_t i = 0;
  for (; i < c.jobs; ++i) {
    const uint32_t number = c.first_number + i;
    const uint64_t begin = Ticks(), begin_wait = Nanoseconds();
    SystemWord(*c.published).store(number, cuda::memory_order_release);
    SystemWord(*c.bell).store(number, cuda::memory_order_release);
    bool done = false;
    while (!done) {
      done = SystemWord(*const_cast<uint32_t*>(c.done)).load(cuda::memory_order_acquire) == number;
      if (!done && Nanoseconds() - begin_wait > kSecond) break;
    }
    if (!done) break;
    ticks[i] = Ticks() - begin;
  }
  *spent = {Ticks() - begin_ticks, Nanoseconds() - begin_ns, i};
}

__global__ void CallKernel(FlagCalls calls, uint64_t* ticks, Spent* spent) { Call(calls, ticks, spent); }

FlagTimes Times(const std::vector<uint64_t>& ticks, const Spent& spent) {
  FlagTimes out;
  out.answered = spent.answered;
  const double us_per_tick = static_cast<double>(spent.ns) / static_cast<double>(spent.ticks) * 1e-3;
  for (uint32_t i = 0; i < spent.answered; ++i) out.micros.push_back(static_cast<double>(ticks[i]) * us_per_tick);
  return out;
}

}  // namespace

FlagTimes CallFromHost(const FlagCalls& calls) {
  std::vector<uint64_t> ticks(calls.jobs);
  Spent spent{};
  Call(calls, ticks.data(), &spent);
  return Times(ticks, spent);
}

FlagTimes CallFromDevice(const FlagCalls& calls) {
  uint64_t* ticks = nullptr;
  Spent* spent = nullptr;
  CudaOrDie(cudaMalloc(&ticks, calls.jobs * sizeof *ticks), "cudaMalloc");
  CudaOrDie(cudaMalloc(&spent, sizeof *spent), "cudaMalloc");
  CallKernel<<<1, 1>>>(calls, ticks, spent);
  kernels::LaunchedOrDie("CallKernel");
  std::vector<uint64_t> host_ticks(calls.jobs);
  Spent host_spent{};
  CudaOrDie(cudaMemcpy(&host_spent, spent, sizeof host_spent, cudaMemcpyDefault), "cudaMemcpy");
  CudaOrDie(cudaMemcpy(host_ticks.data(), ticks, host_ticks.size() * sizeof *ticks, cudaMemcpyDefault), "cudaMemcpy");
  CudaOrDie(cudaFree(ticks), "cudaFree");
  CudaOrDie(cudaFree(spent), "cudaFree");
  return Times(host_ticks, host_spent);
}

}  // namespace hearth
