#include <cmath>

#include "kernels/exl3/exl3_tile.h"
#include "kernels/exl3/int16_sums.h"

namespace hearth::kernels {
namespace {

int32_t ByteSum(uint16_t state) {
  const uint32_t x = state * 0x83DCD12Du;
  return static_cast<int32_t>((x & 255) + ((x >> 8) & 255) + ((x >> 16) & 255) + (x >> 24));
}

// acc[128] += block b of the row times the strip
void AddBlock(const MatrixView& w, Dim strip, Dim b, const int16_t* x, int32_t* acc) {
  constexpr Dim kTiles = kInt16Block / kTile;
  uint16_t states[256];
  for (Dim kt = 0; kt < kTiles; ++kt, x += kTile) {
    for (Dim tile = 0; tile < 8; ++tile, acc += kTile) {
      Exl3StripTileStates(Exl3StripTile(w, b * kTiles + kt, strip * 8 + tile), w.bits, states);
      for (Dim i = 0; i < kTile; ++i) {
        for (Dim c = 0; c < kTile; ++c) acc[c] += x[i] * ByteSum(states[kExl3RowOrder[i] * kTile + c]);
      }
    }
    acc -= kStripColumns;
  }
}

}  // namespace

void Int16SumsRef(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) {
  for (Dim r = 0; r < rows; ++r, sums += kStripColumns) {
    const Int16Row row(static_cast<const std::byte*>(x) + r * stride, w.in_padded);
    for (Dim b = 0; b < w.in_padded / kInt16Block; ++b) {
      int32_t acc[kStripColumns];
      for (int32_t& a : acc) a = row.starts[b];
      AddBlock(w, strip, b, row.values + b * kInt16Block, acc);
      for (Dim c = 0; c < kStripColumns; ++c) {
        sums[c] = std::fma(static_cast<float>(acc[c]), row.scales[b], sums[c]);
      }
    }
  }
}

}  // namespace hearth::kernels
