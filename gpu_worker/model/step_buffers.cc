#include "gpu_worker/model/step_buffers.h"

#include <algorithm>

#include "common/base/check.h"

namespace hearth {
namespace {

constexpr uint64_t kAlignment = 256;

template <typename T>
uint64_t ArrayBytes(const kernels::DeviceArray<T>&, int64_t count) {
  return (static_cast<uint64_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

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
                          std::span<const int32_t> tokens, std::byte* lent) {
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

  ForEachActivation(c, rows, [&lent](auto& array, int64_t count) {
    if (lent == nullptr) {
      array.Grow(count);
    } else {
      array.Use(reinterpret_cast<decltype(array.data())>(lent), count);
      lent += ArrayBytes(array, count);
    }
  });
}

void StepBuffers::GiveBack(const ModelConfig& config) {
  ForEachActivation(config, 0, [](auto& array, int64_t) { array.Release(); });
}

uint64_t StepBuffers::ActivationBytes(const ModelConfig& config, int64_t rows) {
  uint64_t bytes = 0;
  StepBuffers(kernels::RefBackend()).ForEachActivation(config, rows, [&](auto& array, int64_t count) {
    bytes += ArrayBytes(array, count);
  });
  return bytes;
}

template <typename F>
void StepBuffers::ForEachActivation(const ModelConfig& c, int64_t count, F&& f) {
  const int64_t hc = c.hc_mult, d = c.hidden_size, w = c.kda_width();
  const int64_t mlp = std::max<int64_t>(c.intermediate_size, int64_t{c.n_shared_experts} * c.moe_intermediate_size);
  const int64_t queries = int64_t{c.mla_heads} * std::max(c.qk_nope_head_dim, c.v_head_dim);
  const int64_t index_queries = int64_t{c.index_n_heads} * c.index_head_dim;
  const int64_t widest =
      std::max({3 * w, mlp, queries, index_queries, int64_t{c.kv_lora_rank}, int64_t{c.index_head_dim}});
  f(streams, count * hc * d);
  f(x, count * d);
  f(y, count * d);
  f(post, count * hc);
  f(comb, count * hc * hc);
  f(wide_a, count * widest);
  f(wide_b, count * widest);
  f(low_rank, count * std::max(c.q_lora_rank, c.kda_head_dim));
  f(heads, count * std::max(c.kda_heads, c.index_n_heads));
  f(gate, count * w);
  f(decay, count * w);
  f(beta, count * c.kda_heads);
  f(attention, std::max(count * w, 2 * std::min(count, kAttentionBlockRows) * c.mla_heads * c.kv_lora_rank));
  f(pick_ids, count * c.num_experts_per_tok);
  f(pick_weight, count * c.num_experts_per_tok);
  f(pick_out, count * c.num_experts_per_tok * d);
  f(selected, count * c.max_selected_pools());
  f(selected_count, count);
}

kernels::RowPages StepBuffers::where(int64_t page_tokens) const {
  return {.row_sequence = row_sequence.data(),
          .row_position = row_position.data(),
          .pages = page_table.data(),
          .page_stride = page_stride,
          .page_tokens = page_tokens};
}

}  // namespace hearth
