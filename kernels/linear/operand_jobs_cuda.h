#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "common/matrix/matrix_view.h"

namespace hearth::kernels::cuda {

// The three steps of a product with many rows: activations to fp16 rows, weights to fp16 tiles, then one GEMM. Each
// step takes a list of jobs, at most kMaxJobs, that run in one launch; the list may die when the call returns.
//
// EXL3   rows are x * suh, rotated (Hadamard); tiles are codebook values, which fp16 holds exactly. 1 term, or 2:
//        (x_high, x_low) * (w, w).
// plain  rows and weights are split into fp16 sums, so that the product keeps about 22 bits: the inputs are laid out
//        `terms` times, side by side. 2 terms for fp16 weights: (x_high, x_low) * (w, w). 3 terms for bf16 and fp32:
//        (x_high, x_high, x_low) * (w_high, w_low, w_high).
// Rows and plain columns are scaled by powers of two, each by its own largest value, so that fp16 neither overflows nor
// loses small values; the inverse scales are undone in the GEMM, which is exact.
constexpr int kMaxJobs = 32;

inline int OperandTerms(WeightKind kind, int exl3_terms = 1) {
  if (kind == WeightKind::kExl3) return exl3_terms;
  return kind == WeightKind::kF16 ? 2 : 3;
}

struct RowsJob {
  const float* x = nullptr;  // [*, in]
  int64_t x_stride = 0;
  const int32_t* x_row = nullptr;  // [rows] on the device; null: row r is r
  float* gate = nullptr;           // if set, x is swiglu(gate, up), which is stored over gate; same stride
  const float* up = nullptr;
  float limit = 0;
  int rows = 0, in = 0, padded = 0;  // padded: inputs of one term
  int terms = 1;
  const uint16_t* suh = nullptr;   // EXL3 only
  __half* out = nullptr;           // [rows, terms * padded]
  float* inverse_scale = nullptr;  // [rows]
};

struct TilesJob {
  WeightKind kind = WeightKind::kNone;
  Codebook codebook = Codebook::kMul1;
  int bits = 0;
  int in = 0, padded = 0;  // padded: inputs of one term
  int terms = 1;
  int strips = 0;
  int columns = 0;  // of all strips; the rest are zeros (plain)
  const void* data =
      nullptr;  // first strip; plain: element (strip, k, c) is at strip * strip_stride + k * row_stride + c
  int64_t strip_stride = 0, row_stride = 0;
  uint4* tiles = nullptr;          // [strips][terms * padded / 16][8][32]
  float* inverse_scale = nullptr;  // [strips, 128], bf16 and fp32 only
};

struct GemmJob {
  const __half* x = nullptr;     // [rows, k]
  const uint4* tiles = nullptr;  // [strips][k / 16][8][32]
  int rows = 0, k = 0;           // k: all terms
  int strips = 0;
  int columns = 0;                      // outputs written
  const float* row_scale = nullptr;     // [rows]
  const float* column_scale = nullptr;  // [strips, 128] or null
  const uint16_t* svh = nullptr;        // [strips, 128]; set for EXL3, whose outputs are rotated
  const float* bias = nullptr;          // [columns] or null
  float* y = nullptr;
  int64_t y_stride = 0;
  const int32_t* y_row = nullptr;  // [rows] on the device; null: row r is r
};

void MakeRows(cudaStream_t stream, std::span<const RowsJob> jobs);
void MakeTiles(cudaStream_t stream, std::span<const TilesJob> jobs);

// Shapes of a block: one strip or two, 32 or 64 (deep) inputs at a time. They have the same bits, so that the amount of
// work may choose; a deep wide block needs more shared memory than some GPUs have.
enum class GemmBlock { kAuto, kNarrow, kWide, kNarrowDeep, kWideDeep };
bool GemmBlockFits(GemmBlock block);
// Sums run over ascending k in steps of 16 in fp32, whatever the number of rows and jobs.
void MultiplyTiles(cudaStream_t stream, std::span<const GemmJob> jobs, GemmBlock block = GemmBlock::kAuto);

}  // namespace hearth::kernels::cuda
