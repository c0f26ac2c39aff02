#include <cstring>

#include "common/base/check.h"
#include "kernels/exl3/exl3.h"

namespace hearth::kernels {

uint16_t Exl3State(const uint32_t* tile, uint32_t bits, int t) {
  const uint32_t total = 256 * bits;
  const uint32_t end = (static_cast<uint32_t>(t) + 1) * bits;
  const uint32_t low = (end - 1) / 32;
  const uint32_t high = (end - 16 + total) % total / 32;
  const uint64_t window = static_cast<uint64_t>(tile[high]) << 32 | tile[low];
  return static_cast<uint16_t>(window >> (32 * (low + 1) - end));
}

void Exl3RepackStrips(const void* trellis, Dim in, Dim out, uint32_t bits, Dim strip_begin, Dim strip_end,
                      void* strips) {
  HEARTH_CHECK(bits >= 1 && bits <= 8, "bits " + std::to_string(bits));
  const Dim k_tiles = in / kTile;
  const Dim n_strips = out / kStripColumns;
  const Dim words = 8 * bits;       // of one tile
  const Dim chunk = 8 * words * 4;  // bytes of the 8 tiles of 16 inputs x 128 outputs, contiguous in the file
  const auto* source = static_cast<const std::byte*>(trellis);
  auto* target = static_cast<std::byte*>(strips);
  uint32_t file_order[64], lanes[64];
  Dim place[64];
  for (Dim w = 0; w < words; ++w) place[w] = w % bits * 8 + w / bits;
  for (Dim strip = strip_begin; strip < strip_end; ++strip) {
    for (Dim kt = 0; kt < k_tiles; ++kt) {
      const std::byte* from = source + (kt * n_strips + strip) * chunk;
      std::byte* to = target + (strip * k_tiles + kt) * chunk;
      for (Dim tile = 0; tile < 8; ++tile, from += words * 4, to += words * 4) {
        std::memcpy(file_order, from, words * 4);
        for (Dim w = 0; w < words; ++w) lanes[place[w]] = file_order[w];
        std::memcpy(to, lanes, words * 4);
      }
    }
  }
}

namespace {

template <typename T>
void RepackElements(const void* weight, Dim in, Dim out, void* strips) {
  const auto* source = static_cast<const std::byte*>(weight);
  auto* target = static_cast<T*>(strips);
  const Dim n_strips = (out + kStripColumns - 1) / kStripColumns;
  for (Dim strip = 0; strip < n_strips; ++strip) {
    T* base = target + strip * in * kStripColumns;
    for (Dim c = 0; c < kStripColumns; ++c) {
      const Dim column = strip * kStripColumns + c;
      for (Dim k = 0; k < in; ++k) {
        T value = 0;
        if (column < out) std::memcpy(&value, source + (column * in + k) * static_cast<Dim>(sizeof(T)), sizeof(T));
        base[k * kStripColumns + c] = value;
      }
    }
  }
}

}  // namespace

void PlainRepackStrips(const void* weight, WeightKind kind, Dim in, Dim out, void* strips) {
  switch (kind) {
    case WeightKind::kF16:
    case WeightKind::kBf16:
      return RepackElements<uint16_t>(weight, in, out, strips);
    case WeightKind::kF32:
      return RepackElements<uint32_t>(weight, in, out, strips);
    case WeightKind::kExl3:
    case WeightKind::kNone:
      break;
  }
  HEARTH_CHECK(false, "not a plain kind: " + std::to_string(static_cast<int>(kind)));
}

}  // namespace hearth::kernels
