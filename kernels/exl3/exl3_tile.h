#pragma once

#include "kernels/exl3/exl3.h"

namespace hearth::kernels {

// The order in which a tile's bit stream visits its 16 rows, alike for every column. It is the order of the
// products in a group of 16, which every sum over an EXL3 matrix consists of.
constexpr int kExl3RowOrder[kTile] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};

// Codebook states of one tile in strip layout, row-major [16][16] of the tile.
inline void Exl3StripTileStates(const uint32_t* lanes, uint32_t bits, uint16_t* states) {
  uint32_t tile[64];
  for (uint32_t w = 0; w < 8 * bits; ++w) tile[w] = lanes[w % bits * 8 + w / bits];
  for (int t = 0; t < 256; ++t) states[Exl3Row(t) * kTile + Exl3Column(t)] = Exl3State(tile, bits, t);
}

// First word of tile (k_tile, 16 outputs number n_tile) of a matrix in strip layout.
inline const uint32_t* Exl3StripTile(const MatrixView& m, Dim k_tile, Dim n_tile) {
  const Dim k_tiles = m.in_padded / kTile;
  const Dim index = ((n_tile / 8) * k_tiles + k_tile) * 8 + n_tile % 8;
  return static_cast<const uint32_t*>(m.data) + index * 8 * m.bits;
}

}  // namespace hearth::kernels
