#include "gpu_worker/loader/device_model.h"

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"

namespace hearth {
namespace {

constexpr uint64_t kAlignment = 256;

// Calls f(pointer, bytes) for every array of the dense weights; pointers may be changed. The embedding is not among
// them. Sizes: gpu_worker/model/weights.h.
template <typename F>
class WeightArrays {
 public:
  WeightArrays(const ModelConfig& config, F& f) : c_(config), f_(f) {}

  void Visit(ModelWeights& w) {
    Floats(w.norm, c_.hidden_size);
    Matrix(w.head);
    for (LayerWeights& layer : w.layers) Layer(layer);
  }

 private:
  template <typename T>
  void Array(const T*& pointer, int64_t bytes) {
    if (pointer != nullptr) pointer = static_cast<const T*>(f_(pointer, static_cast<uint64_t>(bytes)));
  }
  void Floats(const float*& pointer, int64_t count) { Array(pointer, count * int64_t{sizeof(float)}); }
  void Matrix(MatrixView& m) {
    Array(m.data, m.bytes());
    Array(m.suh, m.in_padded * 2);
    Array(m.svh, m.out_padded * 2);
    Floats(m.bias, m.out_features);
  }
  void Mlp(MlpView& mlp) {
    for (MatrixView* m : {&mlp.gate, &mlp.up, &mlp.down}) Matrix(*m);
  }
  void Mixer(MixerWeights& mixer) {
    const int64_t hc = c_.hc_mult, rows = 2 * hc + hc * hc;
    Floats(mixer.fn, rows * hc * c_.hidden_size);
    Floats(mixer.base, rows);
    Floats(mixer.scale, 3);
  }
  void Kda(KdaWeights& kda) {
    for (MatrixView& m : kda.qkv) Matrix(m);
    for (MatrixView* m : {&kda.f_a, &kda.f_b, &kda.g_a, &kda.g_b, &kda.b, &kda.o}) Matrix(*m);
    Floats(kda.conv, int64_t{3} * c_.kda_width() * c_.conv_kernel);
    Floats(kda.a_log, c_.kda_heads);
    Floats(kda.dt_bias, c_.kda_width());
    Floats(kda.o_norm, c_.kda_head_dim);
  }
  void Mla(MlaWeights& mla) {
    for (MatrixView* m : {&mla.q_a, &mla.q_b, &mla.kv_a, &mla.o}) Matrix(*m);
    Floats(mla.q_norm, c_.q_lora_rank);
    Floats(mla.kv_norm, c_.kv_lora_rank);
    Floats(mla.absorb_k, int64_t{c_.mla_heads} * c_.qk_nope_head_dim * c_.kv_lora_rank);
    Floats(mla.absorb_v, int64_t{c_.mla_heads} * c_.kv_lora_rank * c_.v_head_dim);
    if (!mla.indexer) return;
    for (MatrixView* m : {&mla.indexer->wq_b, &mla.indexer->wk, &mla.indexer->weights_proj, &mla.indexer->gate}) {
      Matrix(*m);
    }
    Floats(mla.indexer->k_weight, c_.index_head_dim);
    Floats(mla.indexer->k_bias, c_.index_head_dim);
    Floats(mla.indexer->ape, int64_t{c_.index_kpool} * c_.index_head_dim);
  }
  void Layer(LayerWeights& layer) {
    Mixer(layer.attn_hc);
    Mixer(layer.ffn_hc);
    Floats(layer.attn_norm, c_.hidden_size);
    Floats(layer.ffn_norm, c_.hidden_size);
    if (layer.kda) Kda(*layer.kda);
    if (layer.mla) Mla(*layer.mla);
    if (layer.dense) Mlp(*layer.dense);
    Floats(layer.router, int64_t{c_.n_routed_experts} * c_.hidden_size);
    Floats(layer.router_bias, c_.n_routed_experts);
    if (layer.shared) Mlp(*layer.shared);
  }

  const ModelConfig& c_;
  F& f_;
};

template <typename F>
void ForEachArray(const ModelConfig& config, ModelWeights& weights, F f) {
  WeightArrays<F>(config, f).Visit(weights);
}

uint64_t Aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::byte* GrowOrThrow(kernels::DeviceArray<std::byte>& array, uint64_t bytes, const char* what) {
  try {
    array.Grow(static_cast<int64_t>(bytes));
  } catch (const std::bad_alloc&) {
    throw StartupError(StrCat("device memory: no room for ", FormatBytes(bytes), " of ", what,
                              "; free memory on the GPU, or use --device host"));
  }
  return array.data();
}

}  // namespace

uint64_t DeviceModel::WeightBytes(const ModelConfig& config, const ModelWeights& weights) {
  ModelWeights copy = weights;
  uint64_t total = 0;
  ForEachArray(config, copy, [&](const void* pointer, uint64_t bytes) {
    total += Aligned(bytes);
    return pointer;
  });
  return total;
}

DeviceModel::DeviceModel(const LoadedModel& model, const kernels::Backend& backend)
    : backend_(backend), weights_(model.weights), home_(model.home.view()), dense_(backend), scales_(backend) {
  if (backend.memory->is_host) return;
  std::byte* to = GrowOrThrow(dense_, WeightBytes(model.config, weights_), "dense weights");
  ForEachArray(model.config, weights_, [&](const void* pointer, uint64_t bytes) {
    backend.memory->upload(backend.stream, to, pointer, bytes);
    const void* const placed = to;
    to += Aligned(bytes);
    return placed;
  });
  std::byte* const scales = GrowOrThrow(scales_, home_.scales_bytes(), "experts' scale vectors");
  backend.memory->upload(backend.stream, scales, home_.scales(), home_.scales_bytes());
  home_.UseScales(scales);
  backend.memory->synchronize(backend.stream);
  weights_.storage.clear();

  const uint64_t element = weights_.embedding_kind == WeightKind::kF32 ? 4 : 2;
  Register(weights_.embedding, element * model.config.vocab_size * model.config.hidden_size, "the embedding table");
  Register(model.home.data(), model.home.bytes(), "the expert home");
}

DeviceModel::~DeviceModel() {
  for (void* memory : registered_) backend_.memory->unregister_host(memory);
}

void DeviceModel::Register(const void* memory, uint64_t bytes, const char* what) {
  void* const pages = const_cast<void*>(memory);  // registering writes nothing
  const std::string refusal = backend_.memory->register_host(pages, bytes);
  if (!refusal.empty()) {
    throw StartupError(
        StrCat(what, ": ", refusal,
               "; raise the memlock limit (ulimit -l unlimited) or the container's, or use --device host"));
  }
  registered_.push_back(pages);
}

}  // namespace hearth
