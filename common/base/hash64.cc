#include "common/base/hash64.h"

#include <cstring>

namespace hearth {
namespace {

// Finalizer of SplitMix64 (S. Vigna): a bijection that spreads every input bit over the word.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

uint64_t LoadTail(const unsigned char* p, size_t bytes) {
  uint64_t word = 0;
  std::memcpy(&word, p, bytes);
  return word;
}

}  // namespace

uint64_t Hash64(const void* data, size_t bytes, uint64_t seed) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15ull;
  const auto* p = static_cast<const unsigned char*>(data);
  // Four independent lanes, so that the multiplications of neighbouring words overlap.
  uint64_t lane[4];
  for (uint64_t i = 0; i < 4; ++i) lane[i] = Mix(seed + (i + 1) * kStep);
  size_t left = bytes;
  for (; left >= 32; left -= 32, p += 32) {
    for (int i = 0; i < 4; ++i) lane[i] = (lane[i] ^ LoadTail(p + 8 * i, 8)) * 0xD6E8FEB86659FD93ull, lane[i] ^= lane[i] >> 32;
  }
  uint64_t hash = Mix(bytes + kStep);
  for (uint64_t word : lane) hash = Mix(hash ^ word) + kStep;
  for (; left > 0;) {
    const size_t take = left < 8 ? left : 8;
    hash = Mix(hash ^ LoadTail(p, take)) + kStep;
    p += take;
    left -= take;
  }
  return Mix(hash);
}

}  // namespace hearth
