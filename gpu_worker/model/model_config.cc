#include "gpu_worker/model/model_config.h"

#include <algorithm>

namespace hearth {
namespace {

// Ordinal of `layer` among the layers for which `is_kind` holds.
template <typename IsKind>
int Ordinal(int layer, IsKind is_kind) {
  if (!is_kind(layer)) return -1;
  int ordinal = 0;
  for (int i = 0; i < layer; ++i) ordinal += is_kind(i) ? 1 : 0;
  return ordinal;
}

}  // namespace

int ModelConfig::kda_layer_count() const {
  return static_cast<int>(std::count(layer_types.begin(), layer_types.end(), AttentionKind::kKda));
}

int ModelConfig::mla_layer_count() const {
  return static_cast<int>(std::count(layer_types.begin(), layer_types.end(), AttentionKind::kMla));
}

int ModelConfig::moe_layer_count() const { return static_cast<int>(std::count(is_moe.begin(), is_moe.end(), true)); }

int ModelConfig::KdaIndex(int layer) const {
  return Ordinal(layer, [this](int i) { return layer_types[i] == AttentionKind::kKda; });
}

int ModelConfig::MlaIndex(int layer) const {
  return Ordinal(layer, [this](int i) { return layer_types[i] == AttentionKind::kMla; });
}

int ModelConfig::MoeIndex(int layer) const {
  return Ordinal(layer, [this](int i) -> bool { return is_moe[i]; });
}

}  // namespace hearth
