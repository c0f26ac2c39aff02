#pragma once

#include <map>

namespace hearth::kernels::cuda {

// How many blocks of a kernel the GPU holds at once. It chooses which block does what, never an order of sums.
class BlockSlots {
 public:
  int Of(const void* kernel, int threads, int shared_bytes);

 private:
  std::map<int, int> known_;  // by shared_bytes; a handful
};

}  // namespace hearth::kernels::cuda
