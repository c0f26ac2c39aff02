#pragma once

#include <cstdint>

#include "kernels/cuda/host_device.h"

namespace hearth::kernels::cuda {

// Where the operands of the prefill GEMM (tile_gemm_cuda.h) lie. Weights are fp16 tiles of 16 inputs x 16 outputs in
// the order in which lanes of mma.m16n8k16 hold them, which is also the order of an EXL3 tile's bit stream: lane g
// decodes, stores and loads its 8 weights as one run of 16 bytes.
//
// Tiles  [strips][in / 16][8 tiles][32 lanes][8] fp16

constexpr int kTileWeights = 256;
constexpr int kLaneWeights = 8;
constexpr int kStripTiles = 8;
constexpr int kChunkBytes = kStripTiles * kTileWeights * 2;  // 16 inputs of a strip
constexpr int kInputPadding = 64;                            // inputs are padded with zeros to a multiple

// Row and column of weight j of lane g within its tile.
HEARTH_HD constexpr int TileRow(int g, int j) { return 2 * (g & 3) + (j & 1) + 8 * ((j >> 1) & 1); }
HEARTH_HD constexpr int TileColumn(int g, int j) { return (g >> 2) + 8 * (j >> 2); }

// Place of 16-byte chunk `chunk` of activation row `row` in shared memory, in chunks. A row has 4 or 8 chunks (32 or 64
// inputs). Eight consecutive rows at one chunk lie in different banks, as ldmatrix reads them.
template <int kRowChunks>
HEARTH_HD constexpr int ActivationChunk(int row, int chunk) {
  static_assert(kRowChunks == 4 || kRowChunks == 8, "32 or 64 inputs");
  if (kRowChunks == 8) return row * 8 + (chunk ^ (row & 7));
  return row * 4 + (chunk ^ ((row >> 1) & 3));
}

// Tile number -> (m, n), in blocks of 16 row tiles: tiles that run together share rows and columns in L2.
HEARTH_HD inline void TileOrder(int tile, int m_tiles, int n_tiles, int* m, int* n) {
  constexpr int kBlock = 16;
  const int block = tile / (kBlock * n_tiles);
  const int within = tile - block * kBlock * n_tiles;
  const int left = m_tiles - block * kBlock;
  const int height = left < kBlock ? left : kBlock;
  *m = block * kBlock + within % height;
  *n = within / height;
}

}  // namespace hearth::kernels::cuda
