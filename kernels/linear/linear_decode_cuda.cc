#include <algorithm>

#include "kernels/cuda/scratch.h"
#include "kernels/linear/gemv_cuda.h"
#include "kernels/linear/linear_cuda.h"

namespace hearth::kernels::cuda {
namespace {

// Enough for the largest GPU, without many partial sums.
constexpr int64_t kLeastUnits = 768;

// Rows [first, first + rows) as jobs of at most Table::kRows rows.
template <typename Table>
void LaunchRows(void* stream, const LinearArgs& args, const GemvShape& shape, Dim first, Dim rows) {
  Table t;
  t.shape[0] = shape;
  t.x = args.x + first * args.x_stride;
  t.x_stride = args.x_stride;
  t.y = args.y + first * args.y_stride;
  t.y_stride = args.y_stride;
  for (Dim done = 0; done < rows; done += Table::kRows) {
    auto& job = t.job[t.job_count++];
    job.matrix[0] = GemvMatrixOf(args.w);
    job.rows = static_cast<int32_t>(std::min<Dim>(Table::kRows, rows - done));
    for (int r = 0; r < job.rows; ++r) job.x_row[r] = job.y_row[r] = static_cast<int32_t>(done + r);
    t.rows_most = std::max(t.rows_most, job.rows);
  }
  t.partial = static_cast<float*>(Scratch(stream, static_cast<size_t>(t.partial_size()) * sizeof(float)));
  LaunchGemv(stream, t);
}

}  // namespace

void LinearDecode(void* stream, const LinearArgs& args) {
  if (args.rows == 0 || args.w.out_features == 0) return;
  const GemvShape shape = GemvShapeOf(args.w, kLeastUnits);
  const bool wide = args.w.kind == WeightKind::kExl3 && args.rows > GemvBatch::kRows;
  const Dim step = wide ? Dim{GemvWide::kRows} : Dim{GemvBatch::kRows * GemvBatch::kJobs};
  for (Dim first = 0; first < args.rows; first += step) {
    const Dim rows = std::min(step, args.rows - first);
    if (wide) {
      LaunchRows<GemvWide>(stream, args, shape, first, rows);
    } else {
      LaunchRows<GemvBatch>(stream, args, shape, first, rows);
    }
  }
}

}  // namespace hearth::kernels::cuda
