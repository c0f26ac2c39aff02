#include <limits>

#include "gpu_worker/loader/config_reader.h"
#include "gpu_worker/model/model_config.h"
#include "kernels/kda/kda.h"
#include "kernels/mixer/mixer.h"

namespace hearth {
namespace {

constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxVector = int64_t{1} << 24;  // elements of any one activation
constexpr char kFile[] = "config.json";

// The foreign-model question comes first: its answer is more helpful than the first missing key.
Status CheckArchitecture(const Json& top) {
  const auto type = top.find("model_type");
  if (type != top.end() && *type != "glm5_next" && *type != "glm5_next_text") {
    return InvalidArgument(kFile, ": model_type is ", ShowJson(*type), ", only \"glm5_next\" is implemented");
  }
  const auto names = top.find("architectures");
  if (names != top.end() && names->is_array() && type == top.end()) {
    for (const Json& name : *names) {
      if (name.is_string() && name.get_ref<const std::string&>().starts_with("Glm5Next")) return Status::Ok();
    }
    return InvalidArgument(kFile, ": architectures is ", ShowJson(*names),
                           ", only \"Glm5NextForConditionalGeneration\" is implemented");
  }
  return Status::Ok();
}

void CheckFixedValues(ConfigReader& read) {
  read.Only("model_type", "glm5_next_text");
  read.Only("n_group", 1);
  read.Only("topk_group", 1);
  read.Only("scoring_func", "sigmoid");
  read.Only("topk_method", "noaux_tc");
  read.Only("norm_topk_prob", true);
  read.Only("moe_router_dtype", "float32");
  read.Only("hidden_act", "silu");
  read.Only("qk_rope_head_dim", 0);
  read.Only("mla_use_nope", true);
  read.Only("attention_bias", false);
  read.Only("index_kpool_compress", true);
  read.Only("index_kpool_always_select_tail", true);
  read.Only("mhc", true);
}

void ReadLayers(ConfigReader& read, ModelConfig& config) {
  const size_t layers = static_cast<size_t>(config.num_hidden_layers);
  for (int word :
       read.Words("layer_types", layers, {"linear_attention", "deepseek_sparse_attention", "full_attention"})) {
    config.layer_types.push_back(word == 0 ? AttentionKind::kKda : AttentionKind::kMla);
  }
  if (read.Has("mlp_layer_types")) {
    for (int word : read.Words("mlp_layer_types", layers, {"dense", "sparse"})) config.is_moe.push_back(word == 1);
  } else if (read.Has("first_k_dense_replace")) {
    const size_t dense = static_cast<size_t>(read.Int("first_k_dense_replace", 0, config.num_hidden_layers));
    read.Only("moe_layer_freq", 1);
    for (size_t i = 0; i < layers; ++i) config.is_moe.push_back(i >= dense);
  } else {
    read.Complain("mlp_layer_types is missing");
  }
  config.indexer_types.assign(layers, IndexerKind::kFull);
  if (!read.status().ok()) return;
  if (read.Has("indexer_types")) {
    const std::vector<int> words = read.Words("indexer_types", layers, {"full", "shared"});
    for (size_t i = 0; i < layers; ++i) {
      if (words[i] == 0 || config.layer_types[i] != AttentionKind::kMla) continue;
      config.indexer_types[i] = IndexerKind::kShared;
      if (i == 0 || config.layer_types[i - 1] != AttentionKind::kMla) {
        read.Complain("indexer_types[", i, "] is \"shared\", but the layer before it is no sparse attention layer");
      }
    }
  }
}

void ReadMlp(ConfigReader& read, ModelConfig& config) {
  config.intermediate_size = static_cast<int>(read.Int("intermediate_size", 1, kMaxWidth));
  config.moe_intermediate_size = static_cast<int>(read.Int("moe_intermediate_size", 1, kMaxWidth));
  config.n_routed_experts = static_cast<int>(read.Int("n_routed_experts", 1, 65536));
  config.n_shared_experts = static_cast<int>(read.Int("n_shared_experts", 1, 1024));
  config.num_experts_per_tok = static_cast<int>(read.Int("num_experts_per_tok", 1, config.n_routed_experts));
  config.routed_scaling_factor = static_cast<float>(read.Number("routed_scaling_factor", 0, 1e6));
  config.swiglu_limit = static_cast<float>(read.Number("swiglu_limit", 0, 1e6));
}

void ReadKda(const Json& text, ConfigReader& read, ModelConfig& config) {
  if (!read.Has("linear_attn_config") || !text["linear_attn_config"].is_object()) {
    read.Complain("linear_attn_config is missing");
    return;
  }
  ConfigReader kda(text["linear_attn_config"], std::string(kFile) + ": linear_attn_config");
  config.kda_heads = static_cast<int>(kda.Int("num_heads", 1, 65536));
  config.kda_head_dim = static_cast<int>(kda.Int("head_dim", 1, 4096));
  config.conv_kernel = static_cast<int>(kda.Int("short_conv_kernel_size", 1, kernels::kMaxConvTaps));
  if (!kda.Has("gate_lower_bound")) kda.Complain("gate_lower_bound is missing: the unbounded gate is not implemented");
  // Above 0 the state would grow without bound.
  config.gate_lower_bound = static_cast<float>(kda.Number("gate_lower_bound", -1000, 0));
  if (!kda.status().ok()) read.Complain(kda.status().message().substr(sizeof(kFile) + 1));
}

void ReadMla(ConfigReader& read, ModelConfig& config) {
  config.mla_heads = static_cast<int>(read.Int("num_attention_heads", 1, 65536));
  if (read.Has("num_key_value_heads")) read.Only("num_key_value_heads", config.mla_heads);
  config.q_lora_rank = static_cast<int>(read.Int("q_lora_rank", 1, kMaxWidth));
  config.kv_lora_rank = static_cast<int>(read.Int("kv_lora_rank", 1, kMaxWidth));
  config.qk_nope_head_dim = static_cast<int>(read.Int("qk_nope_head_dim", 1, 65536));
  if (read.Has("qk_head_dim")) read.Only("qk_head_dim", config.qk_nope_head_dim);
  config.v_head_dim = static_cast<int>(read.Int("v_head_dim", 1, 65536));
  config.index_n_heads = static_cast<int>(read.Int("index_n_heads", 1, 65536));
  config.index_head_dim = static_cast<int>(read.Int("index_head_dim", 1, 65536));
  config.index_topk = static_cast<int>(read.Int("index_topk", 1, kMaxVector));
  config.index_kpool = static_cast<int>(read.Int("index_kpool", 1, 1024, 16));
  if (config.index_topk % config.index_kpool != 0) {
    read.Complain("index_topk is ", config.index_topk, ", expected a multiple of index_kpool, ", config.index_kpool);
  }
}

// Every single number is in range; the lengths that they multiply to must be, too.
void CheckProducts(ConfigReader& read, const ModelConfig& config) {
  const auto below = [&](const char* what, int64_t a, int64_t b) {
    if (a * b > kMaxVector) read.Complain(what, " is ", a, " * ", b, ", at most ", kMaxVector, " is implemented");
  };
  below("hc_mult * hidden_size", config.hc_mult, config.hidden_size);
  below("linear_attn_config.num_heads * head_dim", config.kda_heads, config.kda_head_dim);
  below("num_attention_heads * (qk_nope_head_dim + v_head_dim)", config.mla_heads,
        int64_t{config.qk_nope_head_dim} + config.v_head_dim);
  below("num_attention_heads * kv_lora_rank", config.mla_heads, config.kv_lora_rank);
  below("index_n_heads * index_head_dim", config.index_n_heads, config.index_head_dim);
  below("n_shared_experts * moe_intermediate_size", config.n_shared_experts, config.moe_intermediate_size);
}

}  // namespace

Result<ModelConfig> ParseModelConfig(const std::string& json_text) {
  Result<Json> parsed = ParseJson(json_text, kFile);
  if (!parsed.ok()) return parsed.status();
  const Json& top = *parsed;
  if (!top.is_object()) return InvalidArgument(kFile, ": is ", ShowJson(top), ", expected an object");
  if (Status status = CheckArchitecture(top); !status.ok()) return status;

  const auto inner = top.find("text_config");
  if (inner != top.end() && !inner->is_null() && !inner->is_object()) {
    return InvalidArgument(kFile, ": text_config is ", ShowJson(*inner), ", expected an object");
  }
  const bool nested = inner != top.end() && inner->is_object();
  Json text = nested ? *inner : top;
  if (!nested && text.value("model_type", Json()) == "glm5_next") text.erase("model_type");

  ConfigReader read(text, kFile);
  ConfigReader whole(top, kFile);
  CheckFixedValues(read);
  if (whole.Has("quantization_config") && !top["quantization_config"].is_object()) {
    return InvalidArgument(kFile, ": quantization_config is ", ShowJson(top["quantization_config"]),
                           ", expected an object");
  }
  if (whole.Has("quantization_config")) {
    ConfigReader quantization(top["quantization_config"], std::string(kFile) + ": quantization_config");
    quantization.Only("quant_method", "exl3");
    if (!quantization.status().ok()) return quantization.status();
  }

  ModelConfig config;
  config.num_hidden_layers = static_cast<int>(read.Int("num_hidden_layers", 1, 1024));
  config.hidden_size = static_cast<int>(read.Int("hidden_size", 1, kMaxWidth));
  config.vocab_size = static_cast<int>(read.Int("vocab_size", 1, kMaxVector));
  if (read.Has("tie_word_embeddings") && !text["tie_word_embeddings"].is_boolean()) {
    read.Complain("tie_word_embeddings is ", ShowJson(text["tie_word_embeddings"]), ", expected true or false");
  }
  const auto says_own = [](const Json& object) { return object.value("tie_word_embeddings", Json()) == false; };
  config.own_head = says_own(text) || (!read.Has("tie_word_embeddings") && says_own(top));
  config.rms_norm_eps = static_cast<float>(read.Number("rms_norm_eps", 0, 1));
  config.max_position_embeddings =
      read.Int("max_position_embeddings", 1, std::numeric_limits<int32_t>::max(), int64_t{1} << 20);
  config.hc_mult = static_cast<int>(read.Int("hc_mult", 1, kernels::kMaxHcStreams));
  config.hc_eps = static_cast<float>(read.Number("hc_eps", 0, 1));
  config.hc_sinkhorn_iters = static_cast<int>(read.Int("hc_sinkhorn_iters", 1, 1000));
  ReadLayers(read, config);
  ReadMlp(read, config);
  ReadKda(text, read, config);
  ReadMla(read, config);
  if (read.status().ok()) CheckProducts(read, config);
  config.eos_ids = read.Ids("eos_token_id", config.vocab_size);
  if (config.eos_ids.empty() && nested && read.status().ok()) {
    config.eos_ids = whole.Ids("eos_token_id", config.vocab_size);
  }
  if (!read.status().ok()) return read.status();
  if (!whole.status().ok()) return whole.status();
  return config;
}

Result<GenerationConfig> ParseGenerationConfig(const std::string& json_text, const ModelConfig& config) {
  GenerationConfig generation;
  generation.eos_ids = config.eos_ids;
  if (json_text.empty()) return generation;
  const char* file = "generation_config.json";
  Result<Json> parsed = ParseJson(json_text, file);
  if (!parsed.ok()) return parsed.status();
  if (!parsed->is_object()) return InvalidArgument(file, ": is ", ShowJson(*parsed), ", expected an object");
  ConfigReader read(*parsed, file);
  if (read.Has("eos_token_id")) generation.eos_ids = read.Ids("eos_token_id", config.vocab_size);
  // What a request may ask for, no more: these are the values of requests that say nothing. 0 is greedy decoding.
  const bool greedy = read.Has("temperature") && (*parsed)["temperature"] == 0;
  generation.temperature = greedy ? 0.0f : static_cast<float>(read.Number("temperature", 0, 2, 1));
  generation.top_p = static_cast<float>(read.Number("top_p", 0, 1, 1));
  generation.top_k = static_cast<int>(read.Int("top_k", 0, config.vocab_size, 0));
  generation.min_p = static_cast<float>(read.NumberFrom("min_p", 0, 1, 0));
  generation.repetition_penalty =
      static_cast<float>(read.NumberFrom("repetition_penalty", kLeastRepetitionPenalty, 2, 1));
  if (!read.status().ok()) return read.status();
  return generation;
}

}  // namespace hearth
