#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "kernels/memory_ops.h"

namespace hearth::kernels {
namespace {

constexpr size_t kAlignment = 256;

void* Allocate(size_t bytes) {
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}
void* AllocateZeroed(size_t bytes) { return std::calloc(std::max<size_t>(bytes, 1), 1); }
void Copy(void*, void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void Zero(void*, void* to, size_t bytes) {
  if (bytes > 0) std::memset(to, 0, bytes);
}
void CopyPieces(void* stream, const CopyPiece* pieces, int count) {
  for (int i = 0; i < count; ++i) Copy(stream, pieces[i].to, pieces[i].from, pieces[i].bytes);
}

using Instant = std::chrono::steady_clock::time_point;

void Record(void*, void* mark) { *static_cast<Instant*>(mark) = std::chrono::steady_clock::now(); }
double Seconds(void* from, void* to) {
  return std::chrono::duration<double>(*static_cast<Instant*>(to) - *static_cast<Instant*>(from)).count();
}

}  // namespace

const MemoryOps& HostMemoryOps() {
  static const MemoryOps ops{.is_host = true,
                             .allocate = Allocate,
                             .allocate_zeroed = AllocateZeroed,
                             .release = std::free,
                             .allocate_host = Allocate,
                             .release_host = std::free,
                             .register_host = [](void*, size_t) { return std::string(); },
                             .unregister_host = [](void*) {},
                             .zero = Zero,
                             .copy = Copy,
                             .upload = Copy,
                             .download = Copy,
                             .copy_pieces = CopyPieces,
                             .synchronize = [](void*) {}};
  return ops;
}

const StreamOps& HostStreamOps() {
  static const StreamOps ops{.make_stream = [] { return static_cast<void*>(nullptr); },
                             .release_stream = [](void*) {},
                             .make_mark = [] { return static_cast<void*>(new Instant()); },
                             .release_mark = [](void* mark) { delete static_cast<Instant*>(mark); },
                             .record = Record,
                             .wait = [](void*, void*) {},
                             .finish = [](void*) {},
                             .seconds = Seconds};
  return ops;
}

}  // namespace hearth::kernels
