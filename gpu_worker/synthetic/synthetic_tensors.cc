#include "gpu_worker/synthetic/synthetic_tensors.h"

#include <cmath>

#include "gpu_worker/loader/tensor_names.h"
#include "gpu_worker/synthetic/router_law.h"

namespace hearth {
namespace {

using kernels::Dim;
using Kind = ValueLaw::Kind;

constexpr uint32_t kMul1Marker = 0x83DCD12D;
// Outputs of a half layer have an rms of about 0.4: 90 of them, carried on by mixtures of the streams, stay below 10.
constexpr double kAttentionGain = 0.8, kDownGain = 0.3;

Dim RoundUp128(Dim value) { return (value + 127) / 128 * 128; }

class Lister {
 public:
  Lister(const ModelConfig& config, const SyntheticSettings& settings) : c_(config), s_(settings) {}

  std::vector<SyntheticTensor> List() {
    Vector(StrCat(kTextPrefix, "embed_tokens.weight"), DType::kBf16, {c_.vocab_size, c_.hidden_size}, 0, 1.7);
    Vector(StrCat(kTextPrefix, "norm.weight"), DType::kBf16, {c_.hidden_size}, 1, 0.4);
    Exl3("lm_head", c_.hidden_size, c_.vocab_size, s_.head_bits, 2);
    for (int i = 0; i < c_.num_hidden_layers; ++i) Layer(i);
    return std::move(tensors_);
  }

 private:
  SyntheticTensor& Put(const std::string& name, DType dtype, std::vector<int64_t> shape, const ValueLaw& law) {
    SyntheticTensor tensor;
    tensor.info.name = name;
    tensor.info.dtype = dtype;
    tensor.info.bytes = static_cast<uint64_t>(DTypeBytes(dtype));
    for (int64_t size : shape) tensor.info.bytes *= static_cast<uint64_t>(size);
    tensor.info.shape = std::move(shape);
    tensor.law = law;
    tensor.seed = 0xCBF29CE484222325ull + s_.seed;  // FNV-1a of the name
    for (unsigned char letter : name) tensor.seed = (tensor.seed ^ letter) * 0x100000001B3ull;
    tensors_.push_back(std::move(tensor));
    return tensors_.back();
  }

  void Vector(const std::string& name, DType dtype, std::vector<int64_t> shape, double mean, double amp) {
    Put(name, dtype, std::move(shape), {.kind = Kind::kUniform, .mean = mean, .amp = amp});
  }

  // y of rms `gain` for x of rms 1.
  void Plain(const std::string& name, DType dtype, Dim in, Dim out, double gain = 1) {
    Vector(name, dtype, {out, in}, 0, gain * std::sqrt(3.0 / static_cast<double>(in)));
  }

  void Exl3(const std::string& key, Dim in, Dim out, int bits, double gain) {
    const Dim k = RoundUp128(in), n = RoundUp128(out);
    Put(key + ".trellis", DType::kI16, {k / 16, n / 16, 16 * bits}, {.kind = Kind::kBits});
    Put(key + ".suh", DType::kF16, {k}, {.kind = Kind::kSigned, .amp = 1});
    Put(key + ".svh", DType::kF16, {n}, {.kind = Kind::kSigned, .amp = gain / std::sqrt(static_cast<double>(in))});
    Put(key + ".mul1", DType::kI32, {}, {.kind = Kind::kWord, .word = kMul1Marker});
  }

  void Mlp(const std::string& p, Dim width, int bits, double down_gain = kDownGain) {
    Exl3(p + "gate_proj", c_.hidden_size, width, bits, 1.5);
    Exl3(p + "up_proj", c_.hidden_size, width, bits, 1.5);
    Exl3(p + "down_proj", width, c_.hidden_size, bits, down_gain);
  }

  void Mixer(const std::string& p) {
    const int64_t rows = 2 * c_.hc_mult + c_.hc_mult * c_.hc_mult, in = int64_t{c_.hc_mult} * c_.hidden_size;
    Vector(p + "_fn", DType::kF32, {rows, in}, 0, 2 / std::sqrt(static_cast<double>(in)));
    Vector(p + "_base", DType::kF32, {rows}, 0, 1.2);
    Vector(p + "_scale", DType::kF32, {3}, 1, 0.4);
  }

  void Kda(const std::string& p) {
    const Dim d = c_.hidden_size, width = c_.kda_width(), dim = c_.kda_head_dim;
    Exl3(p + "qkv_proj", d, 3 * width, s_.attention_bits, 1);
    Vector(p + "conv1d.weight", DType::kBf16, {3 * width, 1, c_.conv_kernel}, 0, 0.9);
    Plain(p + "f_a_proj.weight", DType::kF16, d, dim);
    Plain(p + "f_b_proj.weight", DType::kF16, dim, width);
    Plain(p + "g_a_proj.weight", DType::kF16, d, dim);
    Plain(p + "g_b_proj.weight", DType::kF16, dim, width, 2);
    Plain(p + "b_proj.weight", DType::kF16, d, c_.kda_heads);
    Vector(p + "A_log", DType::kF32, {c_.kda_heads}, 0, 0.8);
    Vector(p + "dt_bias", DType::kF32, {width}, -1, 2);
    Vector(p + "o_norm.weight", DType::kBf16, {dim}, 1, 0.4);
    Exl3(p + "o_proj", width, d, s_.attention_bits, kAttentionGain);
  }

  void Mla(const std::string& p, IndexerKind indexer) {
    const Dim d = c_.hidden_size, heads = c_.mla_heads;
    Exl3(p + "q_a_proj", d, c_.q_lora_rank, s_.attention_bits, 1);
    Vector(p + "q_a_layernorm.weight", DType::kBf16, {c_.q_lora_rank}, 1, 0.4);
    Exl3(p + "q_b_proj", c_.q_lora_rank, heads * c_.qk_nope_head_dim, s_.attention_bits, 1);
    Exl3(p + "kv_a_proj_with_mqa", d, c_.kv_lora_rank, s_.attention_bits, 1);
    Vector(p + "kv_a_layernorm.weight", DType::kBf16, {c_.kv_lora_rank}, 1, 0.4);
    Plain(p + "kv_b_proj.weight", DType::kF16, c_.kv_lora_rank, heads * (c_.qk_nope_head_dim + c_.v_head_dim), 1.2);
    Exl3(p + "o_proj", heads * c_.v_head_dim, d, s_.attention_bits, kAttentionGain);
    if (indexer != IndexerKind::kFull) return;
    const std::string i = p + "indexer.";
    const Dim dim = c_.index_head_dim;
    Exl3(i + "wq_b", c_.q_lora_rank, c_.index_n_heads * dim, s_.attention_bits, 1);
    Plain(i + "wk.weight", DType::kF16, d, dim);
    Plain(i + "weights_proj.weight", DType::kF16, d, c_.index_n_heads);
    Vector(i + "k_norm.weight", DType::kBf16, {dim}, 1, 0.3);
    Vector(i + "k_norm.bias", DType::kBf16, {dim}, 0, 0.3);
    Plain(i + "index_kpool_compress_gate", DType::kF16, d, dim);
    Vector(i + "index_kpool_compress_ape", DType::kF16, {c_.index_kpool, dim}, 0, 0.5);
  }

  void Moe(const std::string& p) {
    Plain(p + "gate.weight", DType::kBf16, c_.hidden_size, c_.n_routed_experts, kRouterGain);
    SyntheticTensor& bias = Put(p + "gate.e_score_correction_bias", DType::kF32, {c_.n_routed_experts}, {});
    bias.law.kind = Kind::kVector;
    bias.values = RouterBias(c_.n_routed_experts, c_.num_experts_per_tok, s_.router_zipf, bias.seed);
    for (int e = 0; e < c_.n_routed_experts; ++e) {
      Mlp(StrCat(p, "experts.", e, "."), c_.moe_intermediate_size, s_.expert_bits, s_.expert_gain);
    }
    Mlp(p + "shared_experts.", Dim{c_.n_shared_experts} * c_.moe_intermediate_size, s_.shared_bits);
  }

  void Layer(int i) {
    const std::string p = LayerPrefix(i);
    Mixer(p + "hc_attn");
    Mixer(p + "hc_ffn");
    Vector(p + "input_layernorm.weight", DType::kBf16, {c_.hidden_size}, 1, 0.4);
    Vector(p + "post_attention_layernorm.weight", DType::kBf16, {c_.hidden_size}, 1, 0.4);
    if (c_.layer_types[static_cast<size_t>(i)] == AttentionKind::kKda) {
      Kda(p + "self_attn.");
    } else {
      Mla(p + "self_attn.", c_.indexer_types[static_cast<size_t>(i)]);
    }
    if (c_.is_moe[static_cast<size_t>(i)]) {
      Moe(p + "mlp.");
    } else {
      Mlp(p + "mlp.", c_.intermediate_size, s_.dense_bits);
    }
  }

  const ModelConfig& c_;
  const SyntheticSettings& s_;
  std::vector<SyntheticTensor> tensors_;
};

}  // namespace

std::vector<SyntheticTensor> ListSyntheticTensors(const ModelConfig& config, const SyntheticSettings& settings) {
  return Lister(config, settings).List();
}

}  // namespace hearth
