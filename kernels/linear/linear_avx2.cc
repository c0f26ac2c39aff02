#include <algorithm>
#include <cstring>

#include "kernels/avx2_ops.h"
#include "kernels/linear/strip_avx2.h"
#include "kernels/linear/strip_cost.h"
#include "kernels/parallel.h"
#include "kernels/thread_scratch.h"

// The frame of the AVX2 ops on matrices: rows, blocks and threads. It has no AVX2 code itself and is compiled for any
// processor, because the templates it uses are shared with the rest of the program.
namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kRowsPerUnit = 256;  // sums of a unit: 128 KiB

void MultiplyUnit(const LinearArgs& args, Dim strip, const float* x, Dim stride, Dim first_row, Dim rows) {
  float* sums = ThreadScratch(ScratchSlot::kStripSums, rows * kStripColumns);
  StripProduct(args.w, strip, x + first_row * stride, stride, rows, sums);
  const Dim first = strip * kStripColumns;
  const Dim columns = std::min(kStripColumns, args.w.out_features - first);
  if (columns <= 0) return;
  for (Dim r = 0; r < rows; ++r) {
    std::memcpy(args.y + (first_row + r) * args.y_stride + first, sums + r * kStripColumns,
                static_cast<size_t>(columns) * sizeof(float));
  }
}

}  // namespace

void Linear(void*, const LinearArgs& args) {
  const MatrixView& w = args.w;
  if (args.rows <= 0) return;
  const float* x = args.x;
  Dim stride = args.x_stride;
  if (NeedsRotation(w)) {
    stride = w.in_padded + 16;  // rows of a power of two would share cache sets
    float* rotated = ThreadScratch(ScratchSlot::kRotated, args.rows * stride);
    ParallelFor(args.rows, GrainFor(w.in_padded),
                [&](Dim r) { RotateInput(w, args.x + r * args.x_stride, rotated + r * stride); });
    x = rotated;
  }
  const Dim rows_per_unit = std::min(args.rows, kRowsPerUnit);
  const Dim row_blocks = (args.rows + rows_per_unit - 1) / rows_per_unit;
  const Dim grain = GrainFor(StripCost(w, rows_per_unit));
  ParallelFor(w.strips() * row_blocks, grain, [&](Dim unit) {
    const Dim first_row = unit % row_blocks * rows_per_unit;
    MultiplyUnit(args, unit / row_blocks, x, stride, first_row, std::min(rows_per_unit, args.rows - first_row));
  });
}

}  // namespace hearth::kernels::avx2
