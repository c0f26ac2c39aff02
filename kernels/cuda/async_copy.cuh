#pragma once

namespace hearth::kernels::cuda {

// Copies of 16 bytes from global to shared memory that run beside the arithmetic. Both addresses are multiples of 16. Past
// the first-level cache (.cg) the same reads cross PCIe in pieces half as long: 22 instead of 50 GB/s from host memory.
__device__ inline void AsyncCopy16(void* shared, const void* global) {
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(global) : "memory");
}
// Ends a group of this thread's copies.
__device__ inline void AsyncCommit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
// Waits until at most kLeft of this thread's groups are still under way.
template <int kLeft>
__device__ inline void AsyncWait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft) : "memory");
}

}  // namespace hearth::kernels::cuda
