#include "kernels/linear/strip_ref.h"

#include <algorithm>
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

// Rows [first, first + count) of a plain strip: out [count][128].
void ReadPlainRows(const MatrixView& w, Dim strip, Dim first, Dim count, Real* out) {
  const Dim base = (strip * w.in_features + first) * kStripColumns;
  for (Dim i = 0; i < count * kStripColumns; ++i) {
    switch (w.kind) {
      case WeightKind::kF32:
        out[i] = static_cast<const float*>(w.data)[base + i];
        break;
      case WeightKind::kF16:
        out[i] = F16ToFloat(static_cast<const uint16_t*>(w.data)[base + i]);
        break;
      default:
        out[i] = Bf16ToFloat(static_cast<const uint16_t*>(w.data)[base + i]);
        break;
    }
  }
}

// One group of the sum: a chain of fma from zero, then one addition.
void AddGroup(const Real* weights, const Real* x, Dim count, Real* y) {
  for (Dim c = 0; c < kStripColumns; ++c) {
    Real sum = 0;
    for (Dim k = 0; k < count; ++k) sum = std::fma(x[k], weights[k * kStripColumns + c], sum);
    y[c] += sum;
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
  for (Dim k = 0; k < w.in_padded; k += kTile) {
    const Dim count = std::min(kTile, w.in_padded - k);
    if (exl3) {
      DecodeTileRow(w, strip, k / kTile, weights);
    } else {
      ReadPlainRows(w, strip, k, count, weights);
    }
    for (Dim r = 0; r < rows; ++r) AddGroup(weights, rotated + r * stride + k, count, y + r * kStripColumns);
  }
  FinishStrip(w, strip, rows, y);
}

void FinishStrip(const MatrixView& w, Dim strip, Dim rows, Real* y) {
  const bool exl3 = w.kind == WeightKind::kExl3;
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
