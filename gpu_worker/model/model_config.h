#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace hearth {

enum class AttentionKind { kKda, kMla };
enum class IndexerKind { kFull, kShared };

// The text half of config.json, checked: every value is one that the graph implements. Names are those of the file.
struct ModelConfig {
  int num_hidden_layers = 0;
  int hidden_size = 0;
  int vocab_size = 0;
  bool own_head = false;  // tie_word_embeddings is false: an lm_head must be there
  float rms_norm_eps = 0;
  int64_t max_position_embeddings = 0;

  std::vector<AttentionKind> layer_types;
  std::vector<bool> is_moe;                // mlp_layer_types
  std::vector<IndexerKind> indexer_types;  // meaningful for MLA layers

  int hc_mult = 0;
  float hc_eps = 0;
  int hc_sinkhorn_iters = 0;

  int intermediate_size = 0;
  int moe_intermediate_size = 0;
  int n_routed_experts = 0;
  int n_shared_experts = 0;
  int num_experts_per_tok = 0;
  float routed_scaling_factor = 0;
  float swiglu_limit = 0;

  int kda_heads = 0, kda_head_dim = 0, conv_kernel = 0;
  float gate_lower_bound = 0;

  int mla_heads = 0, q_lora_rank = 0, kv_lora_rank = 0, qk_nope_head_dim = 0, v_head_dim = 0;
  int index_n_heads = 0, index_head_dim = 0, index_topk = 0, index_kpool = 0;

  std::vector<int32_t> eos_ids;  // of config.json; generation_config.json overrides

  int kda_width() const { return kda_heads * kda_head_dim; }
  int max_selected_pools() const { return index_topk / index_kpool; }
  int kda_layer_count() const;
  int mla_layer_count() const;
  int moe_layer_count() const;
  // Ordinal of a layer among the layers of its kind; -1 when it is of another kind.
  int KdaIndex(int layer) const;
  int MlaIndex(int layer) const;
  int MoeIndex(int layer) const;
};

// Parses the text of config.json (with or without `text_config`). Refuses, naming key and value, whatever the graph
// does not implement; unknown keys without a meaning are ignored.
Result<ModelConfig> ParseModelConfig(const std::string& json_text);

// Logits are divided by the penalty, and must not overflow. The gateway has the same bound.
inline constexpr double kLeastRepetitionPenalty = 0.01;

// Defaults and end ids of generation_config.json; a missing file gives the neutral values and config.json's end ids.
struct GenerationConfig {
  std::vector<int32_t> eos_ids;
  float temperature = 1.0f;
  float top_p = 1.0f;
  int top_k = 0;
  float min_p = 0.0f;
  float repetition_penalty = 1.0f;
};
Result<GenerationConfig> ParseGenerationConfig(const std::string& json_text, const ModelConfig& config);

}  // namespace hearth
