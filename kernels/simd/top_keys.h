#pragma once

#include <cstdint>

#include "kernels/real.h"

namespace hearth::kernels {

// Sorting key of candidate `index` with a score: a smaller key is the better candidate, a larger score first, the
// lower index among equals. -0 and +0 are one score.
static inline uint64_t RankKey(float score, uint32_t index) {
  const float plain = score + 0.0f;  // -0 becomes +0
  uint32_t bits;
  __builtin_memcpy(&bits, &plain, sizeof(bits));
  const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(~ascending) << 32 | index;
}

// The `kept` smallest of `count` distinct keys, their indices written in ascending order. Reorders keys;
// 0 < kept <= count.
void TopIndicesAscending(uint64_t* keys, Dim count, Dim kept, int32_t* out);

}  // namespace hearth::kernels
