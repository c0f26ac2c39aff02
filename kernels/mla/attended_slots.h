#pragma once

#include "kernels/mla/mla.h"

namespace hearth::kernels {

// How many tokens a row attends to: those of its selected pools, then the tail.
static inline Dim AttendedCount(const LatentAttentionArgs& args, Dim row) {
  return args.selected_count[row] * args.kpool + (args.where.row_position[row] + 1) % args.kpool;
}

// Calls visit(rank, slot) for each of them in order of position.
template <typename Visit>
static inline void ForAttendedSlots(const LatentAttentionArgs& args, Dim row, Visit visit) {
  const Dim sequence = args.where.row_sequence[row], end = args.where.row_position[row] + 1;
  const int32_t* pools = args.selected + row * args.selected_stride;
  Dim rank = 0;
  for (Dim p = 0; p < args.selected_count[row]; ++p) {
    // A pool never crosses a page: page_tokens is a multiple of kpool.
    const Dim first = args.where.TokenSlot(sequence, pools[p] * args.kpool);
    for (Dim j = 0; j < args.kpool; ++j) visit(rank++, first + j);
  }
  for (Dim t = end / args.kpool * args.kpool; t < end; ++t) visit(rank++, args.where.TokenSlot(sequence, t));
}

}  // namespace hearth::kernels
