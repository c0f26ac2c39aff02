#pragma once

#include <cstdint>

namespace hearth {

// The finalizer of SplitMix64: every output bit depends on every input bit.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A uniform number in [0, 1) that depends on (seed, position) and nothing else, so that neither neighbours in a batch
// nor a pause can change what a generation draws.
constexpr double UniformAt(uint64_t seed, uint64_t position) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  const uint64_t bits = Mix64(Mix64(seed + kGolden) + (position + 1) * kGolden);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace hearth
