#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "common/matrix/matrix_view.h"

namespace hearth {

// Views of everything of the model that is not a routed experts' matrix. The views point into memory that
// ModelWeights::storage keeps alive. Vectors are fp32, exact conversions of what the checkpoint has.

struct MixerWeights {
  const float* fn = nullptr;     // [2H + H*H, H*D]
  const float* base = nullptr;   // [2H + H*H]
  const float* scale = nullptr;  // [3]
};

struct KdaWeights {
  std::vector<MatrixView> qkv;  // one fused matrix, or q, k, v
  const float* conv = nullptr;  // [3W, taps]
  MatrixView f_a, f_b, g_a, g_b, b, o;
  const float* a_log = nullptr;    // [heads]
  const float* dt_bias = nullptr;  // [W]
  const float* o_norm = nullptr;   // [dim]
};

struct IndexerWeights {
  MatrixView wq_b, wk, weights_proj, gate;
  const float* k_weight = nullptr;  // [index_dim]
  const float* k_bias = nullptr;
  const float* ape = nullptr;  // [kpool, index_dim]
};

struct MlaWeights {
  MatrixView q_a, q_b, kv_a, o;
  const float* q_norm = nullptr;          // [q_rank]
  const float* kv_norm = nullptr;         // [kv_rank]
  const float* absorb_k = nullptr;        // [heads, qk_dim, kv_rank]: ql[h] = q[h] absorb_k[h]
  const float* absorb_v = nullptr;        // [heads, kv_rank, v_dim]: o[h] = ol[h] absorb_v[h]
  std::optional<IndexerWeights> indexer;  // absent in `shared` layers
};

struct LayerWeights {
  MixerWeights attn_hc, ffn_hc;
  const float* attn_norm = nullptr;  // [D]
  const float* ffn_norm = nullptr;   // [D]
  std::optional<KdaWeights> kda;
  std::optional<MlaWeights> mla;
  std::optional<MlpView> dense;        // dense MLP
  const float* router = nullptr;       // [experts, D], MoE layers
  const float* router_bias = nullptr;  // [experts]
  std::optional<MlpView> shared;       // shared experts as one MLP, MoE layers
};

struct ModelWeights {
  const void* embedding = nullptr;  // [vocab, D] row-major
  WeightKind embedding_kind = WeightKind::kNone;
  const float* norm = nullptr;  // [D]
  MatrixView head;
  std::vector<LayerWeights> layers;
  std::vector<std::shared_ptr<void>> storage;  // owns what the views point to, but for
  std::shared_ptr<void> embedding_storage;     // the table, which stays on the host
};

}  // namespace hearth
