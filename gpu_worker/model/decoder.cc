#include "gpu_worker/model/decoder.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace hearth {

using kernels::Real;

Decoder::Decoder(const ModelConfig& config, const ModelWeights& weights, const kernels::Backend& backend,
                 MoeExecutor& experts, SequenceStore& store, const Limits& limits)
    : config_(config),
      weights_(weights),
      ops_(backend),
      experts_(experts),
      store_(store),
      limits_(limits),
      chunk_(backend),
      decode_(backend),
      head_in_(backend),
      logits_(backend),
      picked_(backend.streams->make_mark()),
      picks_(backend),
      expert_in_(backend),
      hints_(backend) {
  HEARTH_CHECK(limits.chunk_size > 0 && limits.chunk_size % kernels::kKdaBlock == 0,
               StrCat("chunk size ", limits.chunk_size, " is no multiple of ", kernels::kKdaBlock));
}

Decoder::~Decoder() { ops_.streams->release_mark(picked_); }

void Decoder::BeginChunk(SequenceStore::Slot slot, std::span<const int32_t> tokens) {
  const int64_t count = static_cast<int64_t>(tokens.size());
  HEARTH_CHECK(chunk_.layers_done < 0 || chunk_done(), "a chunk begins while another is unfinished");
  HEARTH_CHECK(count > 0 && count <= limits_.chunk_size, StrCat("a chunk of ", count, " tokens"));
  chunk_.slot = slot;
  chunk_.layers_done = 0;
  Begin(chunk_.buffers, {{.slot = slot, .row_begin = 0, .row_count = count, .position = store_.length(slot)}}, tokens,
        experts_.LendActivations(StepBuffers::ActivationBytes(config_, count)));
}

Status Decoder::StepLayer(const std::function<bool()>& cancelled) {
  HEARTH_CHECK(chunk_.layers_done >= 0 && !chunk_done(), "no unfinished chunk");
  if (Status s = RunLayer(chunk_.buffers, chunk_.layers_done, Phase::kPrefill, cancelled); !s.ok()) return s;
  if (++chunk_.layers_done == layer_count()) store_.Advance(chunk_.slot, chunk_.buffers.rows);
  return Status::Ok();
}

bool Decoder::chunk_done() const { return chunk_.layers_done == layer_count(); }
int Decoder::chunk_layer() const { return std::max(chunk_.layers_done, 0); }

void Decoder::ChunkLogits(int64_t begin, int64_t count, Real* logits) {
  HEARTH_CHECK(chunk_done() && begin >= 0 && begin + count <= chunk_.buffers.rows, "logits of rows that are not there");
  Logits(chunk_.buffers, begin, count, logits);
}

Status Decoder::Decode(std::span<const DecodeRow> rows, Real* logits) {
  HEARTH_CHECK(static_cast<int64_t>(rows.size()) <= limits_.max_batch_rows, StrCat("a step of ", rows.size(), " rows"));
  std::vector<StepSegment> segments;
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < rows.size(); ++i) {
    segments.push_back({.slot = rows[i].slot,
                        .row_begin = static_cast<int64_t>(i),
                        .row_count = 1,
                        .position = store_.length(rows[i].slot)});
    tokens.push_back(rows[i].token);
  }
  Begin(decode_, std::move(segments), tokens);
  for (int layer = 0; layer < layer_count(); ++layer) {
    if (Status s = RunLayer(decode_, layer, Phase::kDecode, nullptr); !s.ok()) return s;
  }
  Logits(decode_, 0, decode_.rows, logits);
  for (const DecodeRow& row : rows) store_.Advance(row.slot, 1);
  return Status::Ok();
}

void Decoder::AbandonChunk() {
  chunk_.layers_done = -1;
  if (ops_.memory->is_host) return;  // memory of its own, kept for the next one
  chunk_.buffers.GiveBack(config_);
  experts_.TakeBackActivations();
}

void Decoder::Begin(StepBuffers& b, std::vector<StepSegment> segments, std::span<const int32_t> tokens,
                    std::byte* lent) {
  for (int32_t id : tokens) HEARTH_CHECK(id >= 0 && id < config_.vocab_size, StrCat("token id ", id));
  b.Prepare(config_, store_, std::move(segments), tokens, lent);
  ops_.embed(ops_.stream, {.table = weights_.embedding,
                           .kind = weights_.embedding_kind,
                           .ids = b.token_ids.data(),
                           .rows = b.rows,
                           .hc = config_.hc_mult,
                           .hidden = config_.hidden_size,
                           .streams = b.streams.data()});
  Done(Stage::kEmbed);
}

Status Decoder::RunLayer(StepBuffers& b, int layer, Phase phase, const std::function<bool()>& cancelled) {
  const LayerWeights& w = weights_.layers[layer];

  Mix(b, w.attn_hc, w.attn_norm);
  Done(Stage::kMixer);
  if (w.kda) {
    Kda(b, *w.kda, layer, phase);
  } else {
    Mla(b, *w.mla, layer, phase);
  }
  Done(Stage::kAttention);
  Emit("attn_post", layer, b.post.data(), b.rows, config_.hc_mult);
  Emit("attn_comb", layer, b.comb.data(), b.rows, config_.hc_mult * config_.hc_mult);
  Emit("attn_out", layer, b.y.data(), b.rows, config_.hidden_size);
  Spread(b);

  Mix(b, w.ffn_hc, w.ffn_norm);
  Done(Stage::kMixer);
  if (w.dense) {
    Mlp(b, *w.dense, phase);
    Done(Stage::kDenseMlp);
  } else if (Status s = Moe(b, w, layer, phase, cancelled); !s.ok()) {
    return s;
  }
  Emit("mlp_out", layer, b.y.data(), b.rows, config_.hidden_size);
  Spread(b);
  Emit("streams", layer, b.streams.data(), b.rows, config_.hc_mult * config_.hidden_size);
  return Status::Ok();
}

void Decoder::Mix(StepBuffers& b, const MixerWeights& mixer, const float* norm) {
  ops_.hc_mix(ops_.stream, {.streams = b.streams.data(),
                            .fn = mixer.fn,
                            .base = mixer.base,
                            .scale = mixer.scale,
                            .norm_weight = norm,
                            .rows = b.rows,
                            .hc = config_.hc_mult,
                            .hidden = config_.hidden_size,
                            .rms_eps = config_.rms_norm_eps,
                            .hc_eps = config_.hc_eps,
                            .iterations = config_.hc_sinkhorn_iters,
                            .x = b.x.data(),
                            .post = b.post.data(),
                            .comb = b.comb.data()});
}

void Decoder::Spread(StepBuffers& b) {
  ops_.hc_spread(ops_.stream, {.streams = b.streams.data(),
                               .y = b.y.data(),
                               .post = b.post.data(),
                               .comb = b.comb.data(),
                               .rows = b.rows,
                               .hc = config_.hc_mult,
                               .hidden = config_.hidden_size});
}

void Decoder::Kda(StepBuffers& b, const KdaWeights& w, int layer, Phase phase) {
  const int64_t width = config_.kda_width(), heads = config_.kda_heads, dim = config_.kda_head_dim;
  const int kda_layer = config_.KdaIndex(layer);
  std::vector<kernels::KdaSegment> segments;
  for (const StepSegment& s : b.segments) {
    segments.push_back({.row_begin = s.row_begin,
                        .row_count = s.row_count,
                        .position = s.position,
                        .history = store_.conv_history(kda_layer, s.slot),
                        .state = store_.kda_state(kda_layer, s.slot)});
  }

  Real* raw = b.wide_a.data();
  if (w.qkv.size() == 1) {
    Linear(phase, b.x.data(), b.rows, w.qkv[0], raw, 3 * width);
  } else {
    for (int part = 0; part < 3; ++part) Linear(phase, b.x.data(), b.rows, w.qkv[part], raw + part * width, 3 * width);
  }
  Real* qkv = b.wide_b.data();
  ops_.short_conv(ops_.stream, {.raw = raw,
                                .weight = w.conv,
                                .segments = segments.data(),
                                .segment_count = static_cast<int64_t>(segments.size()),
                                .channels = 3 * width,
                                .taps = config_.conv_kernel,
                                .out = qkv});

  Linear(phase, b.x.data(), b.rows, w.f_a, b.low_rank.data());
  Linear(phase, b.low_rank.data(), b.rows, w.f_b, b.gate.data());
  Linear(phase, b.x.data(), b.rows, w.b, b.heads.data());
  ops_.kda_prepare(ops_.stream, {.qkv = qkv,
                                 .f = b.gate.data(),
                                 .b = b.heads.data(),
                                 .a_log = w.a_log,
                                 .dt_bias = w.dt_bias,
                                 .lower_bound = config_.gate_lower_bound,
                                 .rows = b.rows,
                                 .heads = heads,
                                 .dim = dim,
                                 .g = b.decay.data(),
                                 .beta = b.beta.data()});
  const kernels::KdaRuleArgs rule{.qkv = qkv,
                                  .g = b.decay.data(),
                                  .beta = b.beta.data(),
                                  .segments = segments.data(),
                                  .segment_count = static_cast<int64_t>(segments.size()),
                                  .heads = heads,
                                  .dim = dim,
                                  .o = b.attention.data()};
  (phase == Phase::kPrefill ? ops_.kda_chunked : ops_.kda_recurrent)(ops_.stream, rule);

  Linear(phase, b.x.data(), b.rows, w.g_a, b.low_rank.data());
  Linear(phase, b.low_rank.data(), b.rows, w.g_b, b.gate.data());
  ops_.kda_output(ops_.stream, {.o = b.attention.data(),
                                .gate = b.gate.data(),
                                .weight = w.o_norm,
                                .eps = config_.rms_norm_eps,
                                .rows = b.rows,
                                .heads = heads,
                                .dim = dim,
                                .out = b.attention.data()});
  Linear(phase, b.attention.data(), b.rows, w.o, b.y.data());
}

void Decoder::Mla(StepBuffers& b, const MlaWeights& w, int layer, Phase phase) {
  const int64_t heads = config_.mla_heads, rank = config_.kv_lora_rank;
  const int mla_layer = config_.MlaIndex(layer);
  const kernels::RowPages where = b.where(store_.page_tokens());

  Linear(phase, b.x.data(), b.rows, w.kv_a, b.wide_b.data());
  ops_.rms_norm(ops_.stream, {.x = b.wide_b.data(),
                              .weight = w.kv_norm,
                              .rows = b.rows,
                              .dim = rank,
                              .eps = config_.rms_norm_eps,
                              .out = b.wide_b.data()});
  ops_.store_latents(ops_.stream, {.latents = b.wide_b.data(),
                                   .rows = b.rows,
                                   .rank = rank,
                                   .where = where,
                                   .kv_type = store_.kv_type(),
                                   .pool = store_.latent_pool(mla_layer)});

  Linear(phase, b.x.data(), b.rows, w.q_a, b.low_rank.data());
  ops_.rms_norm(ops_.stream, {.x = b.low_rank.data(),
                              .weight = w.q_norm,
                              .rows = b.rows,
                              .dim = config_.q_lora_rank,
                              .eps = config_.rms_norm_eps,
                              .out = b.low_rank.data()});
  if (w.indexer) SelectPools(b, *w.indexer, b.low_rank.data(), mla_layer, phase);
  EmitIds("selected", layer, b.selected.data(), b.rows, config_.max_selected_pools());
  EmitIds("selected_count", layer, b.selected_count.data(), b.rows, 1);

  Linear(phase, b.low_rank.data(), b.rows, w.q_b, b.wide_a.data());
  const int64_t qk = config_.qk_nope_head_dim, v = config_.v_head_dim, selected = config_.max_selected_pools();
  const int64_t block = std::min(b.rows, kAttentionBlockRows);
  Real* const ql = b.attention.data();
  Real* const ol = ql + block * heads * rank;
  // Values take the place of the queries that are done; where they are wider, they need a place of their own.
  Real* const values = v <= qk ? b.wide_a.data() : b.wide_b.data();
  for (int64_t first = 0; first < b.rows; first += block) {
    const int64_t rows = std::min(block, b.rows - first);
    kernels::RowPages here = where;
    here.row_sequence += first;
    here.row_position += first;
    ops_.head_linear(ops_.stream, {.x = b.wide_a.data() + first * heads * qk,
                                   .rows = rows,
                                   .heads = heads,
                                   .in = qk,
                                   .out = rank,
                                   .w = w.absorb_k,
                                   .y = ql,
                                   .phase = phase});
    ops_.latent_attention(ops_.stream, {.ql = ql,
                                        .rows = rows,
                                        .heads = heads,
                                        .rank = rank,
                                        .where = here,
                                        .kv_type = store_.kv_type(),
                                        .pool = store_.latent_pool(mla_layer),
                                        .selected = b.selected.data() + first * selected,
                                        .selected_count = b.selected_count.data() + first,
                                        .selected_stride = selected,
                                        .kpool = config_.index_kpool,
                                        .scale = static_cast<float>(1.0 / std::sqrt(double(qk))),
                                        .ol = ol,
                                        .phase = phase});
    ops_.head_linear(ops_.stream, {.x = ol,
                                   .rows = rows,
                                   .heads = heads,
                                   .in = rank,
                                   .out = v,
                                   .w = w.absorb_v,
                                   .y = values + first * heads * v,
                                   .phase = phase});
  }
  Linear(phase, values, b.rows, w.o, b.y.data());
}

void Decoder::SelectPools(StepBuffers& b, const IndexerWeights& w, const Real* query_latent, int mla_layer,
                          Phase phase) {
  const int64_t dim = config_.index_head_dim;
  const kernels::RowPages where = b.where(store_.page_tokens());
  std::vector<kernels::IndexSegment> segments;
  for (const StepSegment& s : b.segments) {
    segments.push_back(
        {.row_begin = s.row_begin, .row_count = s.row_count, .tail = store_.index_tail(mla_layer, s.slot)});
  }
  Linear(phase, b.x.data(), b.rows, w.wk, b.wide_a.data());
  Linear(phase, b.x.data(), b.rows, w.gate, b.wide_b.data());
  ops_.index_pool(ops_.stream, {.k_raw = b.wide_a.data(),
                                .gate = b.wide_b.data(),
                                .k_weight = w.k_weight,
                                .k_bias = w.k_bias,
                                .ape = w.ape,
                                .segments = segments.data(),
                                .segment_count = static_cast<int64_t>(segments.size()),
                                .dim = dim,
                                .kpool = config_.index_kpool,
                                .where = where,
                                .kv_type = store_.kv_type(),
                                .pool_keys = store_.pool_keys(mla_layer)});
  Linear(phase, query_latent, b.rows, w.wq_b, b.wide_a.data());
  Linear(phase, b.x.data(), b.rows, w.weights_proj, b.heads.data());
  ops_.index_select(ops_.stream, {.iq = b.wide_a.data(),
                                  .head_weight = b.heads.data(),
                                  .rows = b.rows,
                                  .heads = config_.index_n_heads,
                                  .dim = dim,
                                  .kpool = config_.index_kpool,
                                  .where = where,
                                  .kv_type = store_.kv_type(),
                                  .pool_keys = store_.pool_keys(mla_layer),
                                  .max_selected = config_.max_selected_pools(),
                                  .selected = b.selected.data(),
                                  .selected_count = b.selected_count.data()});
}

void Decoder::Mlp(StepBuffers& b, const MlpView& w, Phase phase) {
  const int64_t width = w.gate.out_features;
  Linear(phase, b.x.data(), b.rows, w.gate, b.wide_a.data());
  Linear(phase, b.x.data(), b.rows, w.up, b.wide_b.data());
  ops_.swiglu(ops_.stream, {.gate = b.wide_a.data(),
                            .up = b.wide_b.data(),
                            .rows = b.rows,
                            .width = width,
                            .limit = w.limit,
                            .out = b.wide_a.data()});
  Linear(phase, b.wide_a.data(), b.rows, w.down, b.y.data());
}

Status Decoder::Moe(StepBuffers& b, const LayerWeights& w, int layer, Phase phase,
                    const std::function<bool()>& cancelled) {
  const int64_t top_k = config_.num_experts_per_tok, d = config_.hidden_size;
  kernels::RouterArgs router = Router(b, layer, phase);
  router.ids = b.pick_ids.data();
  router.weights = b.pick_weight.data();
  ops_.router(ops_.stream, router);
  Emit("router_weights", layer, b.pick_weight.data(), b.rows, top_k);
  Done(Stage::kRouter);
  EmitIds("router_ids", layer, b.pick_ids.data(), b.rows, top_k);

  // The executor plans on the host. A decode step's rows come along, because the CPU lane reads them there.
  const int32_t* ids = b.pick_ids.data();
  const Real* x_host = b.x.data();
  PickHints hints;
  if (!ops_.memory->is_host) {
    picks_.Grow(b.rows * top_k);
    x_host = nullptr;
    if (phase == Phase::kDecode) {
      expert_in_.Grow(b.rows * d);
      x_host = expert_in_.data();
    }
    const kernels::CopyPiece down[] = {{picks_.data(), ids, b.rows * top_k * sizeof(int32_t)},
                                       {expert_in_.data(), b.x.data(), b.rows * d * sizeof(Real)}};
    ops_.memory->copy_pieces(ops_.stream, down, x_host == nullptr ? 1 : 2);
    ids = picks_.data();
    ops_.streams->record(ops_.stream, picked_);
    // Hints and the shared expert need no plan: the device computes them while the host makes one.
    if (phase == Phase::kDecode) {
      hints = Hints(b, layer + 1);
      Mlp(b, *w.shared, phase);
    }
    ops_.streams->finish(picked_);
  } else if (phase == Phase::kDecode) {
    hints = Hints(b, layer + 1);
  }
  const int moe_layer = config_.MoeIndex(layer);
  const MoeStep step{.moe_layer = moe_layer,
                     .x = b.x.data(),
                     .x_host = x_host,
                     .ids = ids,
                     .rows = b.rows,
                     .top_k = static_cast<int>(top_k),
                     .pick_out = b.pick_out.data(),
                     .hints = hints};
  if (phase == Phase::kPrefill) {
    const int next = moe_layer + 1 < config_.moe_layer_count() ? moe_layer + 1 : -1;
    if (Status s = experts_.Prefill(step, next, cancelled); !s.ok()) return s;
    Done(Stage::kExperts);
    Mlp(b, *w.shared, phase);
    Done(Stage::kSharedMlp);
  } else {
    if (Status s = experts_.BeginDecode(step); !s.ok()) return s;
    Done(Stage::kPlan);
    if (ops_.memory->is_host) Mlp(b, *w.shared, phase);
    Done(Stage::kSharedMlp);
    if (Status s = experts_.FinishDecode(step); !s.ok()) return s;
    Done(Stage::kExperts);
  }
  ops_.moe_combine(ops_.stream, {.pick_out = b.pick_out.data(),
                                 .weights = b.pick_weight.data(),
                                 .shared = b.y.data(),
                                 .rows = b.rows,
                                 .top_k = top_k,
                                 .hidden = d,
                                 .y = b.y.data()});
  Done(Stage::kCombine);
  return Status::Ok();
}

kernels::RouterArgs Decoder::Router(const StepBuffers& b, int layer, Phase phase) const {
  const LayerWeights& w = weights_.layers[layer];
  return {.x = b.x.data(),
          .weight = w.router,
          .bias = w.router_bias,
          .rows = b.rows,
          .hidden = config_.hidden_size,
          .experts = config_.n_routed_experts,
          .top_k = config_.num_experts_per_tok,
          .scale = config_.routed_scaling_factor,
          .phase = phase};
}

PickHints Decoder::Hints(const StepBuffers& b, int layer) {
  if (layer == layer_count() || weights_.layers[layer].dense || !experts_.WantsHints()) return {};
  return hints_.Make(Router(b, layer, Phase::kDecode), config_.MoeIndex(layer));
}

// Every row takes the decode kernel: a row's logits are the same whether it stands alone or among 900. Blocks of rows
// bound the memory of a large vocabulary.
void Decoder::Logits(const StepBuffers& b, int64_t begin, int64_t count, Real* logits) {
  constexpr int64_t kBlock = 64;
  const int64_t d = config_.hidden_size, vocab = config_.vocab_size;
  const int64_t most = std::min(kBlock, count);
  head_in_.Grow(most * d);
  logits_.Grow(most * vocab);
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t rows = std::min(kBlock, count - first);
    ops_.head_norm(ops_.stream, {.streams = b.streams.data() + (begin + first) * config_.hc_mult * d,
                                 .weight = weights_.norm,
                                 .rows = rows,
                                 .hc = config_.hc_mult,
                                 .hidden = d,
                                 .eps = config_.rms_norm_eps,
                                 .out = head_in_.data()});
    Linear(Phase::kDecode, head_in_.data(), rows, weights_.head, logits_.data());
    ops_.memory->download(ops_.stream, logits + first * vocab, logits_.data(), rows * vocab * sizeof(Real));
  }
  Done(Stage::kHead);
  ops_.memory->synchronize(ops_.stream);
}

void Decoder::Linear(Phase phase, const Real* x, int64_t rows, const MatrixView& w, Real* y, int64_t y_stride) {
  ops_.linear(ops_.stream, {.x = x,
                            .x_stride = w.in_features,
                            .rows = rows,
                            .w = w,
                            .y = y,
                            .y_stride = y_stride > 0 ? y_stride : w.out_features,
                            .phase = phase});
}

template <typename T>
std::vector<T> Decoder::Download(const T* values, int64_t count) const {
  std::vector<T> host(count);
  ops_.memory->download(ops_.stream, host.data(), values, host.size() * sizeof(T));
  ops_.memory->synchronize(ops_.stream);
  return host;
}

void Decoder::Emit(const char* what, int layer, const Real* values, int64_t rows, int64_t width) const {
  if (tap_) tap_(StrCat("layer", layer, ".", what), Download(values, rows * width).data(), rows, width);
}

void Decoder::EmitIds(const char* what, int layer, const int32_t* values, int64_t rows, int64_t width) const {
  if (!tap_) return;
  const std::vector<int32_t> ids = Download(values, rows * width);
  const std::vector<Real> as_real(ids.begin(), ids.end());
  tap_(StrCat("layer", layer, ".", what), as_real.data(), rows, width);
}

}  // namespace hearth
