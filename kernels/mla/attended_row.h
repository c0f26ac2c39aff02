#pragma once

#include "kernels/cuda/host_device.h"
#include "kernels/mla/mla.h"

namespace hearth::kernels {

// The tokens that one row attends to, by rank: those of its selected pools, ascending, then the tail. Random access to
// what attended_slots.h visits in order. 32-bit, since a division of 64 bits is a subroutine on a GPU.
struct AttendedRow {
  const int32_t* pools = nullptr;  // selected
  const int32_t* pages = nullptr;  // of the row's sequence
  uint32_t kpool = 1, page_tokens = 1;
  uint32_t pooled = 0;      // ranks below lie in selected pools
  uint32_t tail_begin = 0;  // position of rank `pooled`
  uint32_t count = 0;

  HEARTH_HD AttendedRow(const LatentAttentionArgs& args, Dim row)
      : pools(args.selected + row * args.selected_stride),
        pages(args.where.pages + args.where.row_sequence[row] * args.where.page_stride),
        kpool(static_cast<uint32_t>(args.kpool)),
        page_tokens(static_cast<uint32_t>(args.where.page_tokens)),
        pooled(static_cast<uint32_t>(args.selected_count[row]) * kpool) {
    const uint32_t end = static_cast<uint32_t>(args.where.row_position[row]) + 1;
    tail_begin = end / kpool * kpool;
    count = pooled + end - tail_begin;
  }

  // Number of the token's row in the latent pool.
  HEARTH_HD Dim Slot(uint32_t rank) const {
    const uint32_t position =
        rank < pooled ? static_cast<uint32_t>(pools[rank / kpool]) * kpool + rank % kpool : tail_begin + rank - pooled;
    return static_cast<Dim>(pages[position / page_tokens]) * page_tokens + position % page_tokens;
  }
};

}  // namespace hearth::kernels
