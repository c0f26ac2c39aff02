#include "kernels/exl3/exl3_tile.h"

namespace hearth::kernels {

void Exl3DecodeInner(const MatrixView& matrix, uint16_t* q) {
  uint16_t states[256];
  for (Dim kt = 0; kt < matrix.in_padded / kTile; ++kt) {
    for (Dim nt = 0; nt < matrix.out_padded / kTile; ++nt) {
      Exl3StripTileStates(Exl3StripTile(matrix, kt, nt), matrix.bits, states);
      for (Dim r = 0; r < kTile; ++r) {
        uint16_t* row = q + (kt * kTile + r) * matrix.out_padded + nt * kTile;
        for (Dim c = 0; c < kTile; ++c) row[c] = Exl3CodebookF16(matrix.codebook, states[r * kTile + c]);
      }
    }
  }
}

}  // namespace hearth::kernels
