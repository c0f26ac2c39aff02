#include <algorithm>

#include "kernels/linear/linear_cuda.h"
#include "kernels/linear/matrix_operands_cuda.h"
#include "kernels/linear/operand_memory_cuda.h"

namespace hearth::kernels::cuda {
namespace {

constexpr Dim kRowBlock = 128;  // of the GEMM

// Largest multiple of `step` whose `each` bytes fit `bytes`, at least one step, at most `all`.
Dim AtATime(size_t bytes, size_t each, Dim step, Dim all) {
  const Dim fit = static_cast<Dim>(bytes / each) / step * step;
  return std::min(all, std::max(step, fit));
}

}  // namespace

void LinearPrefill(void* stream_, const LinearArgs& args, int exl3_terms) {
  const auto stream = static_cast<cudaStream_t>(stream_);
  const MatrixView& w = args.w;
  if (args.rows <= 0 || w.strips() == 0) return;
  const MatrixOperands operands(w, exl3_terms);
  const Dim pass_rows = AtATime(kOperandRowsBytes, operands.row_bytes(), kRowBlock, args.rows);
  const Dim pass_strips = AtATime(kOperandTilesBytes, operands.strip_bytes(), 2, w.strips());
  const Dim pass_columns = operands.terms == 3 ? pass_strips * kStripColumns : 0;
  const OperandMemory memory(stream, {.rows = pass_rows * operands.k,
                              .row_scales = pass_rows,
                              .tiles = pass_strips * static_cast<Dim>(operands.strip_bytes() / sizeof(uint4)),
                              .column_scales = pass_columns});
  float* column_scales = pass_columns > 0 ? memory.column_scales : nullptr;

  for (Dim row = 0; row < args.rows; row += pass_rows) {
    const Dim count = std::min(pass_rows, args.rows - row);
    RowsJob rows_job = RowsJobOf(w, operands, count);
    rows_job.x = args.x + row * args.x_stride;
    rows_job.x_stride = args.x_stride;
    rows_job.out = memory.rows;
    rows_job.inverse_scale = memory.row_scales;
    MakeRows(stream, {&rows_job, 1});
    for (Dim strip = 0; strip < w.strips(); strip += pass_strips) {
      const Dim strips = std::min(pass_strips, w.strips() - strip);
      if (row == 0 || pass_strips < w.strips()) {
        TilesJob tiles_job = TilesJobOf(w, operands, strip, strips);
        tiles_job.tiles = memory.tiles;
        tiles_job.inverse_scale = column_scales;
        MakeTiles(stream, {&tiles_job, 1});
      }
      GemmJob gemm_job = GemmJobOf(w, operands, strip, strips, count);
      gemm_job.x = memory.rows;
      gemm_job.tiles = memory.tiles;
      gemm_job.row_scale = memory.row_scales;
      gemm_job.column_scale = column_scales;
      gemm_job.y = args.y + row * args.y_stride + strip * kStripColumns;
      gemm_job.y_stride = args.y_stride;
      MultiplyTiles(stream, {&gemm_job, 1});
    }
  }
}

}  // namespace hearth::kernels::cuda
