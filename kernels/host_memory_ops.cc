#include <cstdlib>
#include <cstring>

#include "kernels/memory_ops.h"

namespace hearth::kernels {
namespace {

constexpr size_t kAlignment = 256;

void* Allocate(size_t bytes) { return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment); }
void Copy(void*, void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void Zero(void*, void* to, size_t bytes) {
  if (bytes > 0) std::memset(to, 0, bytes);
}

}  // namespace

const MemoryOps& HostMemoryOps() {
  static const MemoryOps ops{.is_host = true,
                             .allocate = Allocate,
                             .release = std::free,
                             .allocate_host = Allocate,
                             .release_host = std::free,
                             .zero = Zero,
                             .copy = Copy,
                             .upload = Copy,
                             .download = Copy,
                             .synchronize = [](void*) {}};
  return ops;
}

}  // namespace hearth::kernels
