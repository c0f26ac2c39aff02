#include "gpu_worker/synthetic/random_values.h"

#include <cstring>

#include "common/base/check.h"
#include "common/base/float16.h"

namespace hearth {
namespace {

using kernels::Dim;

// SplitMix64 (S. Vigna) at position i of its sequence.
inline uint64_t RandomWord(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

inline float Uniform(uint64_t word) {  // [-1, 1)
  return static_cast<float>(static_cast<int32_t>(word >> 32)) * 0x1p-31f;
}

template <typename T, typename F>
void FillValues(uint64_t seed, uint64_t begin, uint64_t end, void* dst, F value_of) {
  auto* out = static_cast<std::byte*>(dst);
  for (uint64_t i = begin; i < end; ++i, out += sizeof(T)) {
    const T value = value_of(RandomWord(seed, i));
    std::memcpy(out, &value, sizeof value);
  }
}

template <typename F>
void FillReals(uint64_t seed, DType dtype, uint64_t begin, uint64_t end, void* dst, F real_of) {
  switch (dtype) {
    case DType::kF32:
      return FillValues<float>(seed, begin, end, dst, real_of);
    case DType::kF16:
      return FillValues<uint16_t>(seed, begin, end, dst, [&](uint64_t w) { return FloatToF16(real_of(w)); });
    case DType::kBf16:
      return FillValues<uint16_t>(seed, begin, end, dst, [&](uint64_t w) { return FloatToBf16(real_of(w)); });
    default:
      HEARTH_CHECK(false, StrCat("no random values of type ", DTypeName(dtype)));
  }
}

}  // namespace

void FillRandom(uint64_t seed, const ValueLaw& law, DType dtype, uint64_t begin, uint64_t end, void* dst) {
  const auto mean = static_cast<float>(law.mean), amp = static_cast<float>(law.amp);
  switch (law.kind) {
    case ValueLaw::Kind::kBits: {
      HEARTH_CHECK(DTypeBytes(dtype) == 2, DTypeName(dtype));
      auto* out = static_cast<std::byte*>(dst);
      for (uint64_t i = begin; i < end; ++i, out += 2) {
        const auto value = static_cast<uint16_t>(RandomWord(seed, i / 4) >> (16 * (i % 4)));
        std::memcpy(out, &value, 2);
      }
      return;
    }
    case ValueLaw::Kind::kUniform:
      return FillReals(seed, dtype, begin, end, dst, [=](uint64_t w) { return mean + amp * Uniform(w); });
    case ValueLaw::Kind::kSigned:
      return FillReals(seed, dtype, begin, end, dst, [=](uint64_t w) {
        const float size = amp * (1 + 0.4f * Uniform(w));
        return (w & 1) != 0 ? -size : size;
      });
    case ValueLaw::Kind::kWord:
    case ValueLaw::Kind::kVector:
      break;
  }
  HEARTH_CHECK(false, "this law is not random");
}

void FillRandomStrips(uint64_t seed, Dim in_padded, Dim out_padded, uint32_t bits, Dim begin, Dim end,
                      std::byte* strips) {
  const Dim k_tiles = in_padded / kTile, n_strips = out_padded / kStripColumns;
  const Dim words = 8 * bits;  // 32-bit ones of a tile
  Dim place[64];
  for (Dim w = 0; w < words; ++w) place[w] = w % bits * 8 + w / bits;
  uint32_t tile[64];
  std::byte* to = strips + begin * k_tiles * 8 * words * 4;
  for (Dim strip = begin; strip < end; ++strip) {
    for (Dim kt = 0; kt < k_tiles; ++kt) {
      uint64_t next =
          static_cast<uint64_t>((kt * n_strips + strip) * 8 * words / 2);  // 64-bit word in the file's order
      for (int t = 0; t < 8; ++t, to += words * 4) {
        for (Dim w = 0; w < words; w += 2) {
          const uint64_t both = RandomWord(seed, next++);
          tile[place[w]] = static_cast<uint32_t>(both);
          tile[place[w + 1]] = static_cast<uint32_t>(both >> 32);
        }
        std::memcpy(to, tile, static_cast<size_t>(words) * 4);
      }
    }
  }
}

}  // namespace hearth
