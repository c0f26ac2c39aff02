#include "kernels/simd/top_keys.h"

#include <algorithm>

namespace hearth::kernels {

void TopIndicesAscending(uint64_t* keys, Dim count, Dim kept, int32_t* out) {
  if (kept < count) std::nth_element(keys, keys + kept - 1, keys + count);
  for (Dim i = 0; i < kept; ++i) out[i] = static_cast<int32_t>(keys[i] & 0xFFFFFFFFu);
  std::sort(out, out + kept);
}

}  // namespace hearth::kernels
