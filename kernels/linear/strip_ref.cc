#include "kernels/linear/strip_ref.h"

#include <cmath>

#include "common/base/check.h"
#include "common/base/float16.h"
#include "kernels/exl3/exl3_tile.h"

namespace hearth::kernels::ref {
namespace {

constexpr Real kHadamardScale = static_cast<Real>(0.088388347648318440550);  // 1 / sqrt(128)

// Butterflies at distances 1, 2, 4, .. 64, then the scale; the order of the stages is part of the result's bits.
void Hadamard128(Real* v) {
  for (int distance = 1; distance < 128; distance *= 2) {
    for (int start = 0; start < 128; start += 2 * distance) {
      for (int i = start; i < start + distance; ++i) {
        const Real a = v[i], b = v[i + distance];
        v[i] = a + b;
        v[i + distance] = a - b;
      }
    }
  }
  for (int i = 0; i < 128; ++i) v[i] *= kHadamardScale;
}

// 16 rows of a strip in the order of the sums, fp32 exact: out [16][128].
void DecodeTileRow(const MatrixView& w, Dim strip, Dim k_tile, Real* out) {
  const float* table = Exl3CodebookTable(w.codebook);
  uint16_t states[256];
  for (Dim tile = 0; tile < 8; ++tile) {
    Exl3StripTileStates(Exl3StripTile(w, k_tile, strip * 8 + tile), w.bits, states);
    for (Dim i = 0; i < kTile; ++i) {
      const uint16_t* row = states + kExl3RowOrder[i] * kTile;
      for (Dim c = 0; c < kTile; ++c) out[i * kStripColumns + tile * kTile + c] = table[row[c]];
    }
  }
}

void ReadPlainRow(const MatrixView& w, Dim strip, Dim k, Real* out) {
  const Dim first = (strip * w.in_features + k) * kStripColumns;
  for (Dim c = 0; c < kStripColumns; ++c) {
    switch (w.kind) {
      case WeightKind::kF32:
        out[c] = static_cast<const float*>(w.data)[first + c];
        break;
      case WeightKind::kF16:
        out[c] = F16ToFloat(static_cast<const uint16_t*>(w.data)[first + c]);
        break;
      default:
        out[c] = Bf16ToFloat(static_cast<const uint16_t*>(w.data)[first + c]);
        break;
    }
  }
}

void AddRows(const Real* weights, const Real* x, Dim count, Real* y) {
  for (Dim k = 0; k < count; ++k) {
    for (Dim c = 0; c < kStripColumns; ++c) y[c] = std::fma(x[k], weights[k * kStripColumns + c], y[c]);
  }
}

}  // namespace

Dim ChainPosition(const MatrixView& w, Dim k) {
  if (w.kind != WeightKind::kExl3) return k;
  const Dim row = k % kTile;
  Dim position = 0;
  while (kExl3RowOrder[position] != row) ++position;
  return k - row + position;
}

void RotateInput(const MatrixView& w, const Real* x, Real* rotated) {
  if (w.kind != WeightKind::kExl3) {
    for (Dim k = 0; k < w.in_features; ++k) rotated[k] = x[k];
    return;
  }
  Real block[128];
  for (Dim first = 0; first < w.in_padded; first += 128) {
    for (Dim i = 0; i < 128; ++i) {
      const Dim k = first + i;
      block[i] = k < w.in_features ? x[k] * static_cast<Real>(F16ToFloat(w.suh[k])) : Real{0};
    }
    Hadamard128(block);
    for (Dim i = 0; i < 128; ++i) rotated[ChainPosition(w, first + i)] = block[i];
  }
}

void StripProduct(const MatrixView& w, Dim strip, const Real* rotated, Dim stride, Dim rows, Real* y) {
  const bool exl3 = w.kind == WeightKind::kExl3;
  for (Dim i = 0; i < rows * kStripColumns; ++i) y[i] = 0;
  Real weights[kTile * kStripColumns];
  for (Dim k = 0; k < w.in_padded; k += exl3 ? kTile : 1) {
    if (exl3) {
      DecodeTileRow(w, strip, k / kTile, weights);
    } else {
      ReadPlainRow(w, strip, k, weights);
    }
    for (Dim r = 0; r < rows; ++r) {
      AddRows(weights, rotated + r * stride + k, exl3 ? kTile : 1, y + r * kStripColumns);
    }
  }
  for (Dim r = 0; r < rows; ++r) {
    Real* row = y + r * kStripColumns;
    if (exl3) Hadamard128(row);
    for (Dim c = 0; c < kStripColumns; ++c) {
      const Dim column = strip * kStripColumns + c;
      if (exl3) row[c] *= static_cast<Real>(F16ToFloat(w.svh[column]));
      if (w.bias != nullptr && column < w.out_features) row[c] += static_cast<Real>(w.bias[column]);
    }
  }
}

}  // namespace hearth::kernels::ref
