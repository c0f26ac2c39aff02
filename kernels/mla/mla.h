#pragma once

#include <cstdint>

#include "kernels/cuda/host_device.h"
#include "kernels/phase.h"
#include "kernels/real.h"

namespace hearth::kernels {

// Which sequence and position each row of a step has, and where that sequence's pages are.
struct RowPages {
  const int32_t* row_sequence = nullptr;  // [rows], index into pages
  const int32_t* row_position = nullptr;  // [rows]
  const int32_t* pages = nullptr;         // [sequences, page_stride], page ids in order of position
  Dim page_stride = 0;
  Dim page_tokens = 0;  // a multiple of the pool size

  HEARTH_HD int32_t Page(Dim sequence, Dim position) const {
    return pages[sequence * page_stride + position / page_tokens];
  }
  // Number of `position`'s row in a pool of [page, page_tokens, ..].
  HEARTH_HD Dim TokenSlot(Dim sequence, Dim position) const {
    return Page(sequence, position) * page_tokens + position % page_tokens;
  }
  // Number of pool `pool`'s row in [page, page_tokens / kpool, ..].
  HEARTH_HD Dim PoolSlot(Dim sequence, Dim pool, Dim kpool) const {
    const Dim position = pool * kpool;
    return Page(sequence, position) * (page_tokens / kpool) + position % page_tokens / kpool;
  }
};

// How cached latents and pool keys are stored. A stored value is always read back rounded, also inside the same chunk.
// kF32 holds Real, so that the double build of the reference rounds nothing; size buffers by KvElementBytes.
enum class KvType : uint32_t { kF32 = 0, kF16 = 1 };
constexpr Dim KvElementBytes(KvType type) { return type == KvType::kF16 ? 2 : static_cast<Dim>(sizeof(Real)); }

// Stores each row's latent at its position. pool is [page, page_tokens, rank] of `kv_type`.
struct StoreLatentsArgs {
  const Real* latents = nullptr;  // [rows, rank]
  Dim rows = 0, rank = 0;
  RowPages where;
  KvType kv_type = KvType::kF32;
  void* pool = nullptr;
};

// Absorbed multi-query attention over the selected tokens of each row: those of the selected pools, ascending, then
// the tail (the unfinished pool up to the row itself). score_j = scale * ql . c_j ; ol = sum_j softmax(score)_j c_j.
// Sums go by rank in that list, so a dense row and a sparse row that selects everything agree bit for bit.
struct LatentAttentionArgs {
  const Real* ql = nullptr;  // [rows, heads, rank]
  Dim rows = 0, heads = 0, rank = 0;
  RowPages where;
  KvType kv_type = KvType::kF32;
  const void* pool = nullptr;               // [page, page_tokens, rank]
  const int32_t* selected = nullptr;        // [rows, selected_stride] pool numbers, ascending
  const int32_t* selected_count = nullptr;  // [rows]
  Dim selected_stride = 0;
  Dim kpool = 0;
  float scale = 0;
  Real* ol = nullptr;  // [rows, heads, rank]
  Phase phase = Phase::kDecode;  // the host orders both alike
};

}  // namespace hearth::kernels
