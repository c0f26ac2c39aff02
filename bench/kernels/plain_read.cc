#include "bench/kernels/plain_read.h"

#include <cstdint>

namespace hearth::bench {
namespace {

using Vector = uint64_t __attribute__((vector_size(32)));

}  // namespace

__attribute__((target("avx2"))) void PlainRead(std::span<const std::byte> bytes) {
  Vector sum[4] = {};
  const auto* at = reinterpret_cast<const Vector*>(bytes.data());
  const size_t lines = bytes.size() / sizeof(Vector) / 4;
  for (size_t i = 0; i < lines; ++i, at += 4) {
    __builtin_prefetch(reinterpret_cast<const char*>(at) + 2048);
    __builtin_prefetch(reinterpret_cast<const char*>(at) + 2112);
    for (int k = 0; k < 4; ++k) sum[k] += at[k];
  }
  // Or the loop would have no effect and be dropped.
  asm volatile("" : : "x"(sum[0]), "x"(sum[1]), "x"(sum[2]), "x"(sum[3]));
}

}  // namespace hearth::bench
