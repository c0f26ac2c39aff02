#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

// A 64-bit hash of bytes: quick, stable across builds and machines, not cryptographic. Used for logits rows, record
// checksums and fingerprints, so changing it changes those.
uint64_t Hash64(const void* data, size_t bytes, uint64_t seed = 0);

}  // namespace hearth
