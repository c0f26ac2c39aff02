#include "gpu_worker/loader/weights_builder.h"

#include <algorithm>
#include <cstring>

#include "common/parallel/parallel_for.h"
#include "gpu_worker/loader/aligned_buffer.h"
#include "gpu_worker/loader/matrix_fill.h"
#include "gpu_worker/loader/tensor_names.h"

namespace hearth {
namespace {

using kernels::Dim;

WeightKind KindOf(DType dtype) {
  if (dtype == DType::kF16) return WeightKind::kF16;
  return dtype == DType::kBf16 ? WeightKind::kBf16 : WeightKind::kF32;
}

class WeightsPlanner {
 public:
  WeightsPlanner(const ModelConfig& config, MatrixPlanner& planner)
      : c_(config), planner_(planner), source_(planner.source()) {}

  PlannedWeights Plan() {
    ModelWeights& w = planned_.weights;
    const std::string embedding = StrCat(kTextPrefix, "embed_tokens.weight");
    w.embedding = Embedding(embedding, &w.embedding_kind);
    w.norm = Vector(StrCat(kTextPrefix, "norm.weight"), {c_.hidden_size});
    // Also for what says nothing of it; one that says otherwise lacks its head, which Matrix tells.
    const bool tied = !planner_.Has("lm_head") && !c_.own_head;
    w.head = !tied ? Matrix("lm_head", c_.hidden_size, c_.vocab_size)
                   : Strips(planner_.Plain(embedding, c_.hidden_size, c_.vocab_size));
    for (int i = 0; i < c_.num_hidden_layers; ++i) w.layers.push_back(Layer(i));
    return std::move(planned_);
  }

 private:
  template <typename T>
  T* Allocate(uint64_t count) {
    auto buffer = std::make_shared<AlignedBuffer>(count * sizeof(T));
    planned_.weights.storage.push_back(buffer);
    planned_.memory += count * sizeof(T);
    return reinterpret_cast<T*>(buffer->data());
  }

  void AddJob(uint64_t bytes, std::function<void()> run) {
    planned_.jobs.push_back({bytes, std::move(run)});
    planned_.bytes += bytes;
  }

  void Read(const TensorInfo* tensor, float* values) {
    AddJob(tensor->bytes, [source = &source_, tensor, values] { FillFloats(*source, *tensor, values); });
  }

  const float* Vector(const std::string& name, const std::vector<int64_t>& shape) {
    const TensorInfo* tensor = planner_.Vector(name, shape);
    auto* values = Allocate<float>(tensor->bytes / static_cast<uint64_t>(DTypeBytes(tensor->dtype)));
    Read(tensor, values);
    return values;
  }

  const void* Embedding(const std::string& name, WeightKind* kind) {
    const TensorInfo* tensor = planner_.Vector(name, {c_.vocab_size, c_.hidden_size});
    *kind = KindOf(tensor->dtype);
    auto buffer = std::make_shared<AlignedBuffer>(tensor->bytes);
    std::byte* const data = buffer->data();
    planned_.weights.embedding_storage = std::move(buffer);
    planned_.memory += tensor->bytes;
    AddJob(tensor->bytes, [source = &source_, tensor, data] { FillRaw(*source, *tensor, data); });
    return data;
  }

  MatrixView Strips(const MatrixPlan& plan) {
    MatrixView view = plan.Geometry(WeightKind::kF32);
    auto* strips = Allocate<std::byte>(static_cast<uint64_t>(view.bytes()));
    view.data = strips;
    AddJob(plan.data->bytes,
           [source = &source_, plan, strips] { FillStrips(*source, plan, WeightKind::kF32, strips); });
    if (plan.quantized()) {
      auto* suh = Allocate<uint16_t>(static_cast<uint64_t>(plan.in_padded));
      auto* svh = Allocate<uint16_t>(static_cast<uint64_t>(plan.out_padded));
      AddJob(plan.in_scale->bytes, [source = &source_, plan, suh] { FillScale(*source, plan, true, suh); });
      AddJob(plan.out_scale->bytes, [source = &source_, plan, svh] { FillScale(*source, plan, false, svh); });
      view.suh = suh;
      view.svh = svh;
    }
    if (plan.bias != nullptr) {
      auto* bias = Allocate<float>(static_cast<uint64_t>(plan.out_features));
      AddJob(plan.bias->bytes, [source = &source_, plan, bias] { FillBias(*source, plan, bias); });
      view.bias = bias;
    }
    return view;
  }

  MatrixView Matrix(const std::string& key, Dim in, Dim out) { return Strips(planner_.Matrix(key, in, out)); }

  // Row-major [out, in] in fp32, whatever the checkpoint has. The readers of these have no place for a bias.
  MatrixPlan Unbiased(MatrixPlan plan) {
    if (plan.bias != nullptr) RefuseTensor(source_, *plan.bias, "a bias is not implemented for this module");
    return plan;
  }

  const float* Dense(const std::string& key, Dim in, Dim out) {
    const MatrixPlan plan = Unbiased(planner_.MatrixOrBare(key, in, out));
    auto* dense = Allocate<float>(static_cast<uint64_t>(in * out));
    AddJob(plan.data->bytes, [source = &source_, plan, dense] { FillDense(*source, plan, dense); });
    return dense;
  }

  MlpView Mlp(const std::string& key, Dim width) {
    MlpView mlp;
    mlp.gate = Matrix(key + "gate_proj", c_.hidden_size, width);
    mlp.up = Matrix(key + "up_proj", c_.hidden_size, width);
    mlp.down = Matrix(key + "down_proj", width, c_.hidden_size);
    mlp.limit = c_.swiglu_limit;
    return mlp;
  }

  MixerWeights Mixer(const std::string& key) {
    const int64_t rows = 2 * c_.hc_mult + c_.hc_mult * c_.hc_mult;
    MixerWeights mixer;
    mixer.fn = Dense(key + "_fn", int64_t{c_.hc_mult} * c_.hidden_size, rows);
    mixer.base = Vector(key + "_base", {rows});
    mixer.scale = Vector(key + "_scale", {3});
    return mixer;
  }

  // Projections and convolutions are fused or separate independently of each other.
  KdaWeights Kda(const std::string& p) {
    const Dim hidden = c_.hidden_size, width = c_.kda_width(), dim = c_.kda_head_dim;
    KdaWeights kda;
    if (planner_.Has(p + "qkv_proj")) {
      kda.qkv.push_back(Matrix(p + "qkv_proj", hidden, 3 * width));
    } else {
      for (const char* name : {"q_proj", "k_proj", "v_proj"}) kda.qkv.push_back(Matrix(p + name, hidden, width));
    }
    if (source_.Find(p + "conv1d.weight") != nullptr) {
      kda.conv = Vector(p + "conv1d.weight", {3 * width, 1, c_.conv_kernel});
    } else {
      std::vector<const TensorInfo*> parts;
      for (const char* name : {"q_conv1d.weight", "k_conv1d.weight", "v_conv1d.weight"}) {
        parts.push_back(planner_.Vector(p + name, {width, 1, c_.conv_kernel}));
      }
      auto* conv = Allocate<float>(static_cast<uint64_t>(3 * width * c_.conv_kernel));
      kda.conv = conv;
      for (const TensorInfo* part : parts) {
        Read(part, conv);
        conv += width * c_.conv_kernel;
      }
    }
    kda.f_a = Matrix(p + "f_a_proj", hidden, dim);
    kda.f_b = Matrix(p + "f_b_proj", dim, width);
    kda.g_a = Matrix(p + "g_a_proj", hidden, dim);
    kda.g_b = Matrix(p + "g_b_proj", dim, width);
    kda.b = Matrix(p + "b_proj", hidden, c_.kda_heads);
    kda.o = Matrix(p + "o_proj", width, hidden);
    kda.a_log = Vector(p + "A_log", {c_.kda_heads});
    kda.dt_bias = Vector(p + "dt_bias", {width});
    kda.o_norm = Vector(p + "o_norm.weight", {dim});
    return kda;
  }

  IndexerWeights Indexer(const std::string& p) {
    const Dim hidden = c_.hidden_size, dim = c_.index_head_dim;
    IndexerWeights indexer;
    indexer.wq_b = Matrix(p + "wq_b", c_.q_lora_rank, c_.index_n_heads * dim);
    indexer.wk = Matrix(p + "wk", hidden, dim);
    indexer.weights_proj = Matrix(p + "weights_proj", hidden, c_.index_n_heads);
    indexer.gate = Strips(planner_.MatrixOrBare(p + "index_kpool_compress_gate", hidden, dim));
    indexer.k_weight = Vector(p + "k_norm.weight", {dim});
    indexer.k_bias = Vector(p + "k_norm.bias", {dim});
    indexer.ape = Vector(p + "index_kpool_compress_ape", {c_.index_kpool, dim});
    return indexer;
  }

  // The absorbed form multiplies q by K[h] from the right and the latent mix by V[h] transposed, so kv_b is cut by head
  // and its value rows are turned.
  void Absorb(const std::string& key, MlaWeights& mla) {
    const Dim heads = c_.mla_heads, qk = c_.qk_nope_head_dim, v = c_.v_head_dim, rank = c_.kv_lora_rank;
    const MatrixPlan plan = Unbiased(planner_.Matrix(key, rank, heads * (qk + v)));
    auto* absorb_k = Allocate<float>(static_cast<uint64_t>(heads * qk * rank));
    auto* absorb_v = Allocate<float>(static_cast<uint64_t>(heads * rank * v));
    mla.absorb_k = absorb_k;
    mla.absorb_v = absorb_v;
    AddJob(plan.data->bytes, [=, source = &source_] {
      std::vector<float> dense(static_cast<size_t>(heads * (qk + v) * rank));
      FillDense(*source, plan, dense.data());
      for (Dim h = 0; h < heads; ++h) {
        const float* rows = dense.data() + h * (qk + v) * rank;
        std::memcpy(absorb_k + h * qk * rank, rows, static_cast<size_t>(qk * rank) * sizeof(float));
        for (Dim i = 0; i < v; ++i) {
          for (Dim r = 0; r < rank; ++r) absorb_v[(h * rank + r) * v + i] = rows[(qk + i) * rank + r];
        }
      }
    });
  }

  MlaWeights Mla(const std::string& p, IndexerKind kind) {
    const Dim hidden = c_.hidden_size, heads = c_.mla_heads;
    MlaWeights mla;
    mla.q_a = Matrix(p + "q_a_proj", hidden, c_.q_lora_rank);
    mla.q_b = Matrix(p + "q_b_proj", c_.q_lora_rank, heads * c_.qk_nope_head_dim);
    mla.kv_a = Matrix(p + "kv_a_proj_with_mqa", hidden, c_.kv_lora_rank);
    mla.o = Matrix(p + "o_proj", heads * c_.v_head_dim, hidden);
    mla.q_norm = Vector(p + "q_a_layernorm.weight", {c_.q_lora_rank});
    mla.kv_norm = Vector(p + "kv_a_layernorm.weight", {c_.kv_lora_rank});
    Absorb(p + "kv_b_proj", mla);
    if (kind == IndexerKind::kFull) mla.indexer = Indexer(p + "indexer.");
    return mla;
  }

  LayerWeights Layer(int i) {
    const std::string p = LayerPrefix(i);
    LayerWeights layer;
    layer.attn_hc = Mixer(p + "hc_attn");
    layer.ffn_hc = Mixer(p + "hc_ffn");
    layer.attn_norm = Vector(p + "input_layernorm.weight", {c_.hidden_size});
    layer.ffn_norm = Vector(p + "post_attention_layernorm.weight", {c_.hidden_size});
    if (c_.layer_types[i] == AttentionKind::kKda) {
      layer.kda = Kda(p + "self_attn.");
    } else {
      layer.mla = Mla(p + "self_attn.", c_.indexer_types[i]);
    }
    if (c_.is_moe[i]) {
      layer.router = Dense(p + "mlp.gate", c_.hidden_size, c_.n_routed_experts);
      layer.router_bias = Vector(p + "mlp.gate.e_score_correction_bias", {c_.n_routed_experts});
      layer.shared = Mlp(p + "mlp.shared_experts.", Dim{c_.n_shared_experts} * c_.moe_intermediate_size);
    } else {
      layer.dense = Mlp(p + "mlp.", c_.intermediate_size);
    }
    return layer;
  }

  const ModelConfig& c_;
  MatrixPlanner& planner_;
  const TensorSource& source_;
  PlannedWeights planned_;
};

}  // namespace

PlannedWeights PlanWeights(const ModelConfig& config, MatrixPlanner& planner) {
  return WeightsPlanner(config, planner).Plan();
}

ModelWeights FillWeights(PlannedWeights planned, const std::function<void(uint64_t)>& add_bytes) {
  // Large ones first, so that no core is left with the head at the end.
  std::stable_sort(planned.jobs.begin(), planned.jobs.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  ParallelFor(static_cast<int64_t>(planned.jobs.size()), [&](int64_t i) {
    const PlannedWeights::Job& job = planned.jobs[static_cast<size_t>(i)];
    job.run();
    if (add_bytes) add_bytes(job.bytes);
  });
  return std::move(planned.weights);
}

}  // namespace hearth
