#include "tests/support/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hearth::testing {
namespace {

// First 32 fraction bits of a root, which is where the standard takes its constants from. x < 20 needs 37 bits, so a
// long double's 64-bit mantissa is enough.
uint32_t FractionBits(long double x) {
  return static_cast<uint32_t>(static_cast<uint64_t>((x - std::floor(x)) * 4294967296.0L));
}

struct Constants {
  std::array<uint32_t, 64> round;   // cube roots of the first 64 primes
  std::array<uint32_t, 8> initial;  // square roots of the first 8 primes
  Constants() {
    int count = 0;
    for (int n = 2; count < 64; ++n) {
      bool prime = true;
      for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
      if (!prime) continue;
      if (count < 8) initial[count] = FractionBits(std::sqrt(static_cast<long double>(n)));
      round[count++] = FractionBits(std::cbrt(static_cast<long double>(n)));
    }
  }
};

void Absorb(const Constants& constants, const uint8_t* block, std::array<uint32_t, 8>& state) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = static_cast<uint32_t>(block[4 * i]) << 24 | static_cast<uint32_t>(block[4 * i + 1]) << 16 |
           static_cast<uint32_t>(block[4 * i + 2]) << 8 | block[4 * i + 3];
  }
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const uint32_t t1 =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants.round[i] + w[i];
    const uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t next[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += next[i];
}

}  // namespace

std::string Sha256Hex(const void* data, size_t size) {
  static const Constants constants;
  std::array<uint32_t, 8> state = constants.initial;
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t whole = size / 64 * 64;
  for (size_t i = 0; i < whole; i += 64) Absorb(constants, bytes + i, state);

  std::vector<uint8_t> tail(bytes + whole, bytes + size);
  tail.push_back(0x80);
  while (tail.size() % 64 != 56) tail.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8) tail.push_back(static_cast<uint8_t>(uint64_t{size} * 8 >> shift));
  for (size_t i = 0; i < tail.size(); i += 64) Absorb(constants, tail.data() + i, state);

  std::string hex;
  for (uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) hex.push_back("0123456789abcdef"[word >> shift & 15]);
  }
  return hex;
}

}  // namespace hearth::testing
