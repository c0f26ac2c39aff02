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

// The ops on device 0, with a stream of their own. Only when there is no problem; made on first use.
const Backend& CudaBackend();

}  // namespace hearth::kernels
