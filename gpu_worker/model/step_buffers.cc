#include "gpu_worker/model/step_buffers.h"

#include <algorithm>

#include "common/base/check.h"

namespace hearth {
namespace {

// Vectors only grow: a short step must not give memory back that the next long one takes again.
template <typename T>
void Grow(std::vector<T>& v, int64_t count) {
  if (static_cast<int64_t>(v.size()) < count) v.resize(count);
}

}  // namespace

void StepBuffers::Prepare(const ModelConfig& c, const SequenceStore& store, std::vector<StepSegment> new_segments) {
  segments = std::move(new_segments);
  rows = 0;
  page_stride = 1;
  for (const StepSegment& s : segments) {
    rows += s.row_count;
    page_stride = std::max<int64_t>(page_stride, store.pages(s.slot).size());
  }
  row_sequence.resize(rows);
  row_position.resize(rows);
  page_table.assign(segments.size() * page_stride, -1);
  for (size_t i = 0; i < segments.size(); ++i) {
    const StepSegment& s = segments[i];
    const std::span<const int32_t> pages = store.pages(s.slot);
    HEARTH_CHECK(s.position + s.row_count <= static_cast<int64_t>(pages.size()) * store.page_tokens(),
                 StrCat("slot ", s.slot, " has no room for position ", s.position + s.row_count - 1));
    std::copy(pages.begin(), pages.end(), page_table.begin() + i * page_stride);
    for (int64_t r = 0; r < s.row_count; ++r) {
      row_sequence[s.row_begin + r] = static_cast<int32_t>(i);
      row_position[s.row_begin + r] = static_cast<int32_t>(s.position + r);
    }
  }

  const int64_t hc = c.hc_mult, d = c.hidden_size, w = c.kda_width();
  const int64_t mlp = std::max<int64_t>(c.intermediate_size, int64_t{c.n_shared_experts} * c.moe_intermediate_size);
  const int64_t queries = int64_t{c.mla_heads} * std::max(c.qk_nope_head_dim, c.v_head_dim);
  const int64_t index_queries = int64_t{c.index_n_heads} * c.index_head_dim;
  const int64_t widest =
      std::max({3 * w, mlp, queries, index_queries, int64_t{c.kv_lora_rank}, int64_t{c.index_head_dim}});
  Grow(streams, rows * hc * d);
  Grow(x, rows * d);
  Grow(y, rows * d);
  Grow(post, rows * hc);
  Grow(comb, rows * hc * hc);
  Grow(wide_a, rows * widest);
  Grow(wide_b, rows * widest);
  Grow(low_rank, rows * std::max(c.q_lora_rank, c.kda_head_dim));
  Grow(heads, rows * std::max(c.kda_heads, c.index_n_heads));
  Grow(gate, rows * w);
  Grow(decay, rows * w);
  Grow(beta, rows * c.kda_heads);
  Grow(attention, rows * std::max(w, 2 * int64_t{c.mla_heads} * c.kv_lora_rank));
  Grow(pick_ids, rows * c.num_experts_per_tok);
  Grow(pick_weight, rows * c.num_experts_per_tok);
  Grow(pick_out, rows * c.num_experts_per_tok * d);
  Grow(selected, rows * c.max_selected_pools());
  Grow(selected_count, rows);
}

kernels::RowPages StepBuffers::where(int64_t page_tokens) const {
  return {.row_sequence = row_sequence.data(),
          .row_position = row_position.data(),
          .pages = page_table.data(),
          .page_stride = page_stride,
          .page_tokens = page_tokens};
}

}  // namespace hearth
