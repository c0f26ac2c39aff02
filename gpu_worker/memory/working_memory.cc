#include "gpu_worker/memory/working_memory.h"

#include <algorithm>
#include <bit>

#include "common/base/byte_size.h"
#include "gpu_worker/model/step_buffers.h"

// The bounds of each op's scratch, as the CUDA file named beside it sets them. Scratch of a stream is one block that
// its ops share, so the largest op counts, not the sum.
namespace hearth {
namespace {

constexpr int64_t kFloat = sizeof(float);

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t step) { return CeilDiv(a, step) * step; }

// Operands of a prefill product: linear_prefill_cuda.cc, head_linear_cuda.cu, expert_batch_prefill_cuda.cc.
constexpr int64_t kOperandRowsBytes = 128 * kMiB, kOperandTilesBytes = 256 * kMiB;
constexpr int64_t kRowBlock = 128, kInputPadding = 64, kMostJobs = 32, kGroupPicks = 4096;
constexpr int64_t kMostPieces = 7;        // of operand memory,
constexpr int64_t kPieceAlignment = 256;  // each aligned

struct Operands {
  int64_t terms, k, strips, row_bytes, strip_bytes;

  Operands(const MatrixView& w, int exl3_terms)
      : terms(w.kind == WeightKind::kExl3  ? exl3_terms
              : w.kind == WeightKind::kF16 ? 2
                                           : 3),
        k(terms * RoundUp(w.in_padded, kInputPadding)),
        strips(w.strips()),
        row_bytes(2 * k),
        strip_bytes(2 * k * kStripColumns) {}
};

int64_t LinearPrefill(const MatrixView& w, int64_t rows, int exl3_terms) {
  if (w.strips() == 0) return 0;
  const Operands o(w, exl3_terms);
  const int64_t pass_rows =
      std::min(rows, std::max(kRowBlock, kOperandRowsBytes / o.row_bytes / kRowBlock * kRowBlock));
  const int64_t pass_strips = std::min(o.strips, std::max<int64_t>(2, kOperandTilesBytes / o.strip_bytes / 2 * 2));
  return pass_rows * (o.row_bytes + kFloat) + pass_strips * (o.strip_bytes + kStripColumns * kFloat);
}

int64_t HeadLinearPrefill(int64_t rows, int64_t heads, int64_t in, int64_t out) {
  const int64_t k = 3 * RoundUp(in, kInputPadding), strips = CeilDiv(out, kStripColumns);
  const int64_t row_bytes = 2 * k, tile_bytes = strips * kStripColumns * 2 * k;
  const int64_t pass_rows = std::min(rows, std::max(kRowBlock, kOperandRowsBytes / row_bytes / kRowBlock * kRowBlock));
  const int64_t fitting = std::min(kOperandRowsBytes / (pass_rows * row_bytes), kOperandTilesBytes / tile_bytes);
  const int64_t pass_heads = std::clamp<int64_t>(fitting, 1, std::min(heads, kMostJobs));
  return pass_heads * (pass_rows * (row_bytes + kFloat) + tile_bytes + strips * kStripColumns * kFloat);
}

int64_t ExpertPrefill(const MlpView& e, int64_t picks, int exl3_terms) {
  const Operands gate(e.gate, exl3_terms), up(e.up, exl3_terms), down(e.down, exl3_terms);
  const int64_t expert_bytes =
      std::max(gate.strips * gate.strip_bytes + up.strips * up.strip_bytes, down.strips * down.strip_bytes);
  if (expert_bytes == 0) return 0;
  const int64_t experts = std::clamp<int64_t>(kOperandTilesBytes / expert_bytes, 1, kMostJobs / 2);
  const int64_t rows = std::min(picks, kGroupPicks), strips = std::max(gate.strips + up.strips, down.strips);
  return rows * (2 * std::max(gate.k + up.k, down.k) + 2 * kFloat + 2 * e.gate.out_padded * kFloat) +
         experts * (expert_bytes + strips * kStripColumns * kFloat) + picks * 2 * int64_t{sizeof(int32_t)};
}

// Partial sums of a product with few rows: gemv_cuda.cc, linear_decode_cuda.cc, expert_batch_decode_cuda.cc.
constexpr int64_t kJobs = 16, kJobRows = 8, kWideRows = 32;

int64_t Slices(const MatrixView& w, int64_t least_units) {
  if (w.kind != WeightKind::kExl3) return CeilDiv(w.in_padded, w.strips() * CeilDiv(w.in_padded, 64) < 4096 ? 64 : 256);
  int64_t slice = kStripColumns;
  while (slice < 4 * kStripColumns && w.strips() * CeilDiv(w.in_padded, 2 * slice) >= least_units) slice *= 2;
  return CeilDiv(w.in_padded, slice);
}

int64_t LinearDecode(const MatrixView& w, int64_t rows) {
  if (w.strips() == 0) return 0;
  const bool wide = w.kind == WeightKind::kExl3 && rows > kJobRows;
  const int64_t at_a_time =
      wide ? std::min(rows, kWideRows) : RoundUp(std::min(rows, kJobs * kJobRows), std::min(rows, kJobRows));
  return at_a_time * w.strips() * Slices(w, 768) * kStripColumns * kFloat;
}

int64_t ExpertDecode(const MlpView& e, int64_t rows) {
  if (e.gate.strips() == 0) return 0;
  const int64_t all = kJobs * std::min(rows, kJobRows), least_units = 128;
  const int64_t slices = std::max(e.gate.strips() * (Slices(e.gate, least_units) + Slices(e.up, least_units)),
                                  e.down.strips() * Slices(e.down, least_units));
  return all * kStripColumns * kFloat * (e.gate.strips() + slices);
}

// The blocks of kda_chunked_cuda.cu and kda_block.cuh; wider heads go token by token, without.
int64_t KdaChunked(const ModelConfig& c) {
  constexpr int64_t kUnits = 512, kTokens = 64, kChannels = 128;
  constexpr int64_t kBlock = 3 * kTokens * kChannels + 2 * kTokens * kTokens + kChannels;
  if (c.kda_layer_count() == 0 || c.kda_head_dim > kChannels) return 0;
  return std::clamp<int64_t>(kUnits / c.kda_heads, 1, 64) * c.kda_heads * kBlock * kFloat;
}

// Scores of pools: index_select_cuda.cu.
int64_t IndexSelect(const ModelConfig& c, int64_t rows, int64_t pool_tokens) {
  constexpr int64_t kScoreBytes = 256 * kMiB, kRowsTogether = 8;
  const int64_t pools = CeilDiv(pool_tokens, c.index_kpool) + 64;  // of whole pages
  if (pools <= c.max_selected_pools()) return 0;
  const int64_t row_bytes = RoundUp(pools, 32) * kFloat;
  const int64_t group = std::max(kRowsTogether, kScoreBytes / row_bytes / kRowsTogether * kRowsTogether);
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::min(group, rows) * row_bytes)));
}

// Splits of a decode row's attention: latent_attention_512_cuda.cu.
int64_t AttendDecode(const ModelConfig& c, int64_t rows) {
  constexpr int64_t kSplitBytes = 64 * kMiB, kSplitRanks = 128;
  const int64_t splits = CeilDiv(int64_t{c.max_selected_pools()} * c.index_kpool + c.index_kpool - 1, kSplitRanks);
  const int64_t row_bytes = splits * c.mla_heads * (c.kv_lora_rank + 2) * kFloat;
  return std::clamp<int64_t>(kSplitBytes / row_bytes, 1, rows) * row_bytes;
}

// hc_mix_cuda.cu.
int64_t Mixer(const ModelConfig& c, int64_t rows) {
  const int64_t hc = c.hc_mult, slices = CeilDiv(hc * c.hidden_size, 1024);
  return rows * slices * (2 * hc + hc * hc + 1) * kFloat;
}

template <typename F>
void ForEachMatrix(const ModelWeights& weights, F&& f) {
  const auto mlp = [&](const MlpView& m) { f(m.gate), f(m.up), f(m.down); };
  for (const LayerWeights& layer : weights.layers) {
    if (layer.kda) {
      for (const MatrixView& m : layer.kda->qkv) f(m);
      for (const MatrixView* m :
           {&layer.kda->f_a, &layer.kda->f_b, &layer.kda->g_a, &layer.kda->g_b, &layer.kda->b, &layer.kda->o}) {
        f(*m);
      }
    }
    if (layer.mla) {
      for (const MatrixView* m : {&layer.mla->q_a, &layer.mla->q_b, &layer.mla->kv_a, &layer.mla->o}) f(*m);
      if (const auto& indexer = layer.mla->indexer) {
        for (const MatrixView* m : {&indexer->wq_b, &indexer->wk, &indexer->weights_proj, &indexer->gate}) f(*m);
      }
    }
    if (layer.dense) mlp(*layer.dense);
    if (layer.shared) mlp(*layer.shared);
  }
}

}  // namespace

uint64_t WorkingBytes(const ModelConfig& c, const ModelWeights& weights, std::span<const MlpView> experts,
                      const WorkingLimits& limits) {
  constexpr int64_t kLogitRows = 64;  // at a time: Decoder::Logits
  constexpr int64_t kLeastChunk = 64;
  // Kernels' code that is loaded when it is first used, counters, picks, row lists, and the rounding of allocations.
  constexpr int64_t kSmall = 64 * kMiB;
  const int64_t chunk = limits.chunk_size, batch = limits.max_batch_rows, most = std::max(chunk, batch);

  int64_t main = std::max(
      {LinearDecode(weights.head, kLogitRows), KdaChunked(c), Mixer(c, most), most * c.n_routed_experts * kFloat});
  if (c.mla_layer_count() > 0) {
    const int64_t block = std::min(chunk, kAttentionBlockRows);
    main = std::max({main, IndexSelect(c, most, limits.pool_tokens), AttendDecode(c, batch),
                     HeadLinearPrefill(block, c.mla_heads, c.qk_nope_head_dim, c.kv_lora_rank),
                     HeadLinearPrefill(block, c.mla_heads, c.kv_lora_rank, c.v_head_dim)});
  }
  ForEachMatrix(weights, [&](const MatrixView& w) {
    main = std::max({main, LinearPrefill(w, chunk, limits.exl3_terms), LinearDecode(w, batch)});
  });
  int64_t side = 0;
  for (const MlpView& e : experts) {
    side = std::max(side, ExpertDecode(e, batch));
    main = std::max({main, side, ExpertPrefill(e, chunk * c.num_experts_per_tok, limits.exl3_terms)});
  }
  const int64_t logits = kLogitRows * (int64_t{c.vocab_size} + c.hidden_size) * kFloat;
  const int64_t where =
      most * 3 * int64_t{sizeof(int32_t)} + batch * limits.pool_tokens / 64 * int64_t{sizeof(int32_t)};
  return static_cast<uint64_t>(main + side + kMostPieces * kPieceAlignment + logits + where + kSmall) +
         StepBuffers::ActivationBytes(c, batch) + StepBuffers::ActivationBytes(c, kLeastChunk);
}

}  // namespace hearth
