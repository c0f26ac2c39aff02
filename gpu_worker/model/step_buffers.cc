#include "gpu_worker/model/step_buffers.h"

#include <algorithm>

#include "common/base/check.h"

namespace hearth {
StepBuffers::StepBuffers(const kernels::Backend& b)
    : token_ids(b),
      row_sequence(b),
      row_position(b),
      page_table(b),
      streams(b),
      x(b),
      y(b),
      post(b),
      comb(b),
      wide_a(b),
      wide_b(b),
      low_rank(b),
      heads(b),
      gate(b),
      decay(b),
      beta(b),
      attention(b),
      pick_ids(b),
      pick_weight(b),
      pick_out(b),
      selected(b),
      selected_count(b) {}

void StepBuffers::Prepare(const ModelConfig& c, const SequenceStore& store, std::vector<StepSegment> new_segments,
                          std::span<const int32_t> tokens) {
  segments = std::move(new_segments);
  rows = 0;
  page_stride = 1;
  for (const StepSegment& s : segments) {
    rows += s.row_count;
    page_stride = std::max<int64_t>(page_stride, store.pages(s.slot).size());
  }
  host_sequence_.resize(rows);
  host_position_.resize(rows);
  host_pages_.assign(segments.size() * page_stride, -1);
  for (size_t i = 0; i < segments.size(); ++i) {
    const StepSegment& s = segments[i];
    const std::span<const int32_t> pages = store.pages(s.slot);
    HEARTH_CHECK(s.position + s.row_count <= static_cast<int64_t>(pages.size()) * store.page_tokens(),
                 StrCat("slot ", s.slot, " has no room for position ", s.position + s.row_count - 1));
    std::copy(pages.begin(), pages.end(), host_pages_.begin() + i * page_stride);
    for (int64_t r = 0; r < s.row_count; ++r) {
      host_sequence_[s.row_begin + r] = static_cast<int32_t>(i);
      host_position_[s.row_begin + r] = static_cast<int32_t>(s.position + r);
    }
  }

  token_ids.Assign(tokens);
  row_sequence.Assign(host_sequence_);
  row_position.Assign(host_position_);
  page_table.Assign(host_pages_);

  const int64_t hc = c.hc_mult, d = c.hidden_size, w = c.kda_width();
  const int64_t mlp = std::max<int64_t>(c.intermediate_size, int64_t{c.n_shared_experts} * c.moe_intermediate_size);
  const int64_t queries = int64_t{c.mla_heads} * std::max(c.qk_nope_head_dim, c.v_head_dim);
  const int64_t index_queries = int64_t{c.index_n_heads} * c.index_head_dim;
  const int64_t widest =
      std::max({3 * w, mlp, queries, index_queries, int64_t{c.kv_lora_rank}, int64_t{c.index_head_dim}});
  streams.Grow(rows * hc * d);
  x.Grow(rows * d);
  y.Grow(rows * d);
  post.Grow(rows * hc);
  comb.Grow(rows * hc * hc);
  wide_a.Grow(rows * widest);
  wide_b.Grow(rows * widest);
  low_rank.Grow(rows * std::max(c.q_lora_rank, c.kda_head_dim));
  heads.Grow(rows * std::max(c.kda_heads, c.index_n_heads));
  gate.Grow(rows * w);
  decay.Grow(rows * w);
  beta.Grow(rows * c.kda_heads);
  attention.Grow(rows * std::max(w, 2 * int64_t{c.mla_heads} * c.kv_lora_rank));
  pick_ids.Grow(rows * c.num_experts_per_tok);
  pick_weight.Grow(rows * c.num_experts_per_tok);
  pick_out.Grow(rows * c.num_experts_per_tok * d);
  selected.Grow(rows * c.max_selected_pools());
  selected_count.Grow(rows);
}

kernels::RowPages StepBuffers::where(int64_t page_tokens) const {
  return {.row_sequence = row_sequence.data(),
          .row_position = row_position.data(),
          .pages = page_table.data(),
          .page_stride = page_stride,
          .page_tokens = page_tokens};
}

}  // namespace hearth
