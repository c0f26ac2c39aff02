#pragma once

#include <cstdint>

#include "kernels/mla/mla.h"
#include "kernels/real.h"

namespace hearth::kernels {

// Consecutive rows of one sequence, for ops that carry the unfinished pool along.
struct IndexSegment {
  Dim row_begin = 0;
  Dim row_count = 0;
  // [kpool, 2, dim]: (normalised key, gate) of the tokens of the unfinished pool, entry position mod kpool; updated.
  Real* tail = nullptr;
};

// LayerNorm of the raw index keys (eps 1e-6), then, for every pool completed by a row, its key: the softmax mixture
// over the pool's tokens, per channel. Keys go to their place in the pages: [page, page_tokens / kpool, dim].
struct IndexPoolArgs {
  const Real* k_raw = nullptr;      // [rows, dim]
  const Real* gate = nullptr;       // [rows, dim]
  const float* k_weight = nullptr;  // [dim]
  const float* k_bias = nullptr;    // [dim]
  const float* ape = nullptr;       // [kpool, dim]
  const IndexSegment* segments = nullptr;
  Dim segment_count = 0;
  Dim dim = 0, kpool = 0;
  RowPages where;
  KvType kv_type = KvType::kF32;
  void* pool_keys = nullptr;
};

// Chooses, per row, the pools with the largest score among the complete visible ones; ties to the lower pool, -0 and
// +0 are equal. With at most max_selected visible pools all are chosen and no score is computed.
// score_P = sum_h head_weight[h] * max(0, (iq[h] . pk_P) * dim^-0.5), head_weight times heads^-0.5.
struct IndexSelectArgs {
  const Real* iq = nullptr;           // [rows, heads, dim]
  const Real* head_weight = nullptr;  // [rows, heads], raw projection; the op applies heads^-0.5
  Dim rows = 0, heads = 0, dim = 0, kpool = 0;
  RowPages where;
  KvType kv_type = KvType::kF32;
  const void* pool_keys = nullptr;
  Dim max_selected = 0;               // index_topk / kpool
  int32_t* selected = nullptr;        // [rows, max_selected] ascending; entries past the count are left alone
  int32_t* selected_count = nullptr;  // [rows]
};

}  // namespace hearth::kernels
