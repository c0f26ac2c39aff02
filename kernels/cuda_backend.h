#pragma once

#include <cstdint>
#include <string>

#include "kernels/backend.h"

namespace hearth::kernels {

struct CudaDevice {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

// "" when device 0 can run this build, otherwise one line: what is missing and what would help.
std::string CudaProblem();
// Only when there is no problem.
CudaDevice DescribeCudaDevice();

// What prefill multiplies EXL3 matrices with on tensor cores: activations as fp16, or as sums of two fp16 numbers, which
// keep about 22 bits and cost twice the work. Decode and plain matrices have 22 bits or more in any case.
enum class PrefillOperands { kF16, kF16x2 };

// The ops on device 0, with a stream of their own. Only when there is no problem; made on first use.
const Backend& CudaBackend(PrefillOperands operands = PrefillOperands::kF16);

}  // namespace hearth::kernels
