#include "gpu_worker/loader/tensor_names.h"

#include <charconv>
#include <string_view>

namespace hearth {

bool IsSkippedTensor(const std::string& name, int num_hidden_layers) {
  if (name.starts_with("model.visual.") || name.starts_with("visual.")) return true;
  const std::string layers = std::string(kTextPrefix) + "layers.";
  if (!name.starts_with(layers)) return false;
  const std::string_view rest = std::string_view(name).substr(layers.size());
  int64_t layer = -1;
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
  return parsed.ec == std::errc() && layer >= num_hidden_layers;
}

}  // namespace hearth
