#pragma once

#include "kernels/linear/operand_jobs_cuda.h"
#include "kernels/linear/tile_layout.h"

namespace hearth::kernels::cuda {

// How a MatrixView becomes operands.
struct MatrixOperands {
  int terms, padded, k;  // padded: inputs of one term; k: of all

  MatrixOperands(const MatrixView& w, int exl3_terms) : terms(OperandTerms(w.kind, exl3_terms)) {
    padded = static_cast<int>((w.in_padded + kInputPadding - 1) / kInputPadding * kInputPadding);
    k = terms * padded;
  }
  size_t row_bytes() const { return size_t{2} * k; }
  size_t strip_bytes() const { return size_t{2} * k * kStripColumns; }
};

// Jobs of strips [first, first + strips) of `w` as `o`; memory and, for rows, the source are left to the caller.
inline RowsJob RowsJobOf(const MatrixView& w, const MatrixOperands& o, int64_t rows) {
  return {.rows = static_cast<int>(rows),
          .in = static_cast<int>(w.in_features),
          .padded = o.padded,
          .terms = o.terms,
          .suh = w.kind == WeightKind::kExl3 ? w.suh : nullptr};
}

inline TilesJob TilesJobOf(const MatrixView& w, const MatrixOperands& o, Dim first, Dim strips) {
  return {.kind = w.kind,
          .codebook = w.codebook,
          .bits = static_cast<int>(w.bits),
          .in = static_cast<int>(w.in_features),
          .padded = o.padded,
          .terms = o.terms,
          .strips = static_cast<int>(strips),
          .columns = static_cast<int>(strips * kStripColumns),
          .data = static_cast<const char*>(w.data) + first * w.bytes_per_strip(),
          .strip_stride = w.in_features * kStripColumns,
          .row_stride = kStripColumns};
}

inline GemmJob GemmJobOf(const MatrixView& w, const MatrixOperands& o, Dim first, Dim strips, int64_t rows) {
  const Dim column = first * kStripColumns;
  const Dim columns = w.out_features - column;
  return {.rows = static_cast<int>(rows),
          .k = o.k,
          .strips = static_cast<int>(strips),
          .columns = static_cast<int>(columns < strips * kStripColumns ? columns : strips * kStripColumns),
          .svh = w.kind == WeightKind::kExl3 ? w.svh + column : nullptr,
          .bias = w.bias != nullptr ? w.bias + column : nullptr};
}

}  // namespace hearth::kernels::cuda
