#include "kernels/thread_scratch.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "common/base/check.h"

namespace hearth::kernels {
namespace {

struct Free {
  void operator()(float* p) const { std::free(p); }
};

struct Block {
  std::unique_ptr<float[], Free> data;
  Dim count = 0;
};

thread_local Block blocks[static_cast<int>(ScratchSlot::kCount)];

}  // namespace

float* ThreadScratch(ScratchSlot slot, Dim count) {
  Block& block = blocks[static_cast<int>(slot)];
  if (block.count < count || block.data == nullptr) {
    const Dim rounded = (std::max(count, block.count + block.count / 2) / 16 + 1) * 16;
    block.data.reset();
    block.data.reset(static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>(rounded) * sizeof(float))));
    HEARTH_CHECK(block.data != nullptr, "no memory for " + std::to_string(rounded * 4) + " bytes of scratch");
    block.count = rounded;
  }
  return block.data.get();
}

}  // namespace hearth::kernels
