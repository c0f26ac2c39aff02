#include "kernels/linear/gemv_cuda.h"

#include "kernels/cuda/arrivals.h"

namespace hearth::kernels::cuda {
namespace {

constexpr int64_t kLongestSlice = int64_t{kMostStages} * kStripColumns;  // of an EXL3 matrix

// Short slices give a small plain matrix blocks enough; long ones keep the partial sums of a large one small.
constexpr int64_t kShortPlainSlice = 64, kLongPlainSlice = 256;
constexpr int64_t kLargePlain = 4096;  // blocks of short slices

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool Aligned16(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

template <typename Table>
void FillIn(void* stream, Table& t) {
  const GemvShape& s = t.shape[0];
  t.x_aligned = Aligned16(t.x) && t.x_stride % 4 == 0 && s.in_features % 4 == 0;
  t.y_aligned = Aligned16(t.y) && t.y_stride % 4 == 0 && s.out_features % 4 == 0;
  t.arrived = Arrivals(stream, int64_t{t.job_count} * s.strips * t.rows_most);
}

}  // namespace

GemvShape GemvShapeOf(const MatrixView& w, int64_t least_units) {
  GemvShape s;
  s.kind = w.kind;
  s.codebook = w.codebook;
  s.bits = w.bits;
  s.in_features = static_cast<int32_t>(w.in_features);
  s.in_padded = static_cast<int32_t>(w.in_padded);
  s.out_features = static_cast<int32_t>(w.out_features);
  s.strips = static_cast<int32_t>(w.strips());
  int64_t slice = 0;
  if (w.kind == WeightKind::kExl3) {
    slice = kStripColumns;
    while (slice < kLongestSlice && w.strips() * CeilDiv(w.in_padded, 2 * slice) >= least_units) slice *= 2;
  } else {
    slice = w.strips() * CeilDiv(w.in_padded, kShortPlainSlice) < kLargePlain ? kShortPlainSlice : kLongPlainSlice;
  }
  s.slice_inputs = static_cast<int32_t>(slice);
  s.slices = static_cast<int32_t>(CeilDiv(w.in_padded, slice));
  return s;
}

void LaunchGemv(void* stream, GemvBatch& table) {
  FillIn(stream, table);
  const auto launch = [&](int first, int count) {
    if (table.shape[first].kind == WeightKind::kExl3) {
      LaunchExl3Gemv(stream, table, first, count);
    } else {
      LaunchPlainGemv(stream, table, first, count);
    }
  };
  if (table.matrices == 1 || table.shape[0] == table.shape[1]) return launch(0, table.matrices);
  launch(0, 1);
  launch(1, 1);
}

void LaunchGemv(void* stream, GemvWide& table) {
  FillIn(stream, table);
  LaunchExl3Gemv(stream, table, 0, table.matrices);
}

}  // namespace hearth::kernels::cuda
