#pragma once

#include <cstdint>

#include "common/matrix/matrix_view.h"
#include "kernels/cuda/host_device.h"

namespace hearth::kernels::cuda {

// Products of few rows with strips: what `linear` and `expert_batch` launch in the decode phase.
//
// A slice of the inputs of one strip times the rows of one job leaves 128 partial sums per row. Who arrives last at a
// strip adds the slices in ascending order and finishes it: Hadamard, scale, bias, and for a gate and up pair the
// activation. The length of a slice follows from the matrix's shape alone, so a row's bits depend neither on other rows
// nor on other jobs. Everything that describes the work travels in the launch parameters.

constexpr int kGemvThreads = 256;
constexpr int kGemvWarps = kGemvThreads / 32;
constexpr int kMostStages = 4;  // blocks of 128 inputs in a slice of an EXL3 matrix

// What the matrices at one place of all jobs have in common.
struct GemvShape {
  WeightKind kind = WeightKind::kNone;
  Codebook codebook = Codebook::kMul1;
  uint32_t bits = 0;
  int32_t in_features = 0, in_padded = 0, out_features = 0, strips = 0;
  int32_t slice_inputs = 0;  // 128, 256 or 512 for EXL3, a multiple of 64 for plain matrices
  int32_t slices = 0;

  bool operator==(const GemvShape&) const = default;
};

// `least_units`: slices of an EXL3 matrix get longer as long as its strips have this many slices together.
GemvShape GemvShapeOf(const MatrixView& w, int64_t least_units);

struct GemvMatrix {
  const void* data = nullptr;
  const uint16_t* suh = nullptr;
  const uint16_t* svh = nullptr;
  const float* bias = nullptr;
};
inline GemvMatrix GemvMatrixOf(const MatrixView& w) { return {w.data, w.suh, w.svh, w.bias}; }

template <int kRows>
struct GemvJob {
  GemvMatrix matrix[2];
  int32_t rows = 0;
  int32_t x_row[kRows] = {};
  int32_t y_row[kRows] = {};
};

// Parameters of a launch; kept below the 4 KiB that every driver takes.
template <int kJobsMost, int kRowsMost>
struct GemvTable {
  static constexpr int kJobs = kJobsMost;
  static constexpr int kRows = kRowsMost;

  GemvShape shape[2];
  int32_t matrices = 1;  // 2: gate and up, y = swiglu of both
  int32_t job_count = 0;
  int32_t rows_most = 0;   // of any job
  bool x_aligned = false;  // rows of x can be read 16 bytes at a time
  bool y_aligned = false;
  float limit = 0;
  const float* x = nullptr;
  int64_t x_stride = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  float* partial = nullptr;     // [jobs, strips, slices of both matrices, rows_most, 128]
  uint32_t* arrived = nullptr;  // [jobs, strips, rows_most]
  GemvJob<kRowsMost> job[kJobsMost];

  HEARTH_HD int64_t slices() const { return shape[0].slices + (matrices == 2 ? shape[1].slices : 0); }
  // Floats that `partial` must have.
  int64_t partial_size() const { return int64_t{job_count} * shape[0].strips * slices() * rows_most * kStripColumns; }
};

using GemvBatch = GemvTable<16, 8>;  // several jobs of up to 8 rows, any kind of matrix
using GemvWide = GemvTable<1, 32>;   // one job of up to 32 rows that share the decoding; EXL3 only

// Launches the product. Everything is filled in but x_aligned, y_aligned and arrived.
void LaunchGemv(void* stream, GemvBatch& table);
void LaunchGemv(void* stream, GemvWide& table);

// Parts of LaunchGemv, by kind: matrices [first, first + count) of the table, which have one shape.
void LaunchExl3Gemv(void* stream, const GemvBatch& table, int first, int count);
void LaunchExl3Gemv(void* stream, const GemvWide& table, int first, int count);
void LaunchPlainGemv(void* stream, const GemvBatch& table, int first, int count);

}  // namespace hearth::kernels::cuda
