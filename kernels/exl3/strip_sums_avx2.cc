#include "kernels/exl3/strip_sums_avx2.h"

#include "kernels/exl3/strip_sums_impl_avx2.h"

namespace hearth::kernels::avx2 {
namespace {

const Exl3Kernels& KernelsOf(Codebook codebook) {
  if (codebook == Codebook::kMul1) return Mul1Kernels();
  return codebook == Codebook::kMcg ? McgKernels() : ThreeInstKernels();
}

const uint32_t* TileRowWords(const MatrixView& w, Dim strip, Dim k_tile) {
  return static_cast<const uint32_t*>(w.data) + (strip * (w.in_padded / kTile) + k_tile) * 64 * w.bits;
}

}  // namespace

Dim Exl3StripSumsRows(Codebook codebook) { return KernelsOf(codebook).max_rows; }

void Exl3StripSums(const MatrixView& w, Dim strip, const float* x, Dim stride, Dim rows, float* sums) {
  KernelsOf(w.codebook)
      .strip_sums[w.bits - 1][rows - 1](TileRowWords(w, strip, 0), w.in_padded / kTile, x, stride, sums);
}

void Exl3DecodePanel(const MatrixView& w, Dim strip, Dim k_tile, Dim k_tiles, float* panel) {
  KernelsOf(w.codebook).panel[w.bits - 1](TileRowWords(w, strip, k_tile), k_tiles, panel);
}

}  // namespace hearth::kernels::avx2
