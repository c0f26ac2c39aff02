#pragma once

#include <vector>

#include "kernels/mla/mla.h"

namespace hearth::kernels {

// Slots of the tokens that a row attends to, in order of position: the selected pools, then the tail.
inline void AttendedSlots(const LatentAttentionArgs& args, Dim row, std::vector<Dim>* slots) {
  slots->clear();
  const Dim sequence = args.where.row_sequence[row], position = args.where.row_position[row];
  const int32_t* pools = args.selected + row * args.selected_stride;
  for (Dim p = 0; p < args.selected_count[row]; ++p) {
    // A pool never crosses a page: page_tokens is a multiple of kpool.
    const Dim first = args.where.TokenSlot(sequence, pools[p] * args.kpool);
    for (Dim j = 0; j < args.kpool; ++j) slots->push_back(first + j);
  }
  for (Dim t = (position + 1) / args.kpool * args.kpool; t <= position; ++t) {
    slots->push_back(args.where.TokenSlot(sequence, t));
  }
}

}  // namespace hearth::kernels
