#include "tests/support/generated_tensors.h"

#include <cstring>

namespace hearth::testing {

GeneratedTensors::GeneratedTensors(const nlohmann::json& oracle) : salt_(oracle["generator"]["salt"]) {
  for (const auto& entry : oracle["tensors"]) {
    Spec spec{.info = {.name = entry["name"], .dtype = DType::kF32, .shape = entry["shape"]},
              .mean = entry["mean"],
              .amp = entry["amp"]};
    uint64_t count = 1;
    for (int64_t n : spec.info.shape) count *= n;
    spec.info.bytes = count * sizeof(float);
    specs_.emplace(spec.info.name, spec);
  }
}

std::vector<std::string> GeneratedTensors::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, spec] : specs_) names.push_back(name);
  return names;
}

const TensorInfo* GeneratedTensors::Find(const std::string& name) const {
  const auto found = specs_.find(name);
  return found == specs_.end() ? nullptr : &found->second.info;
}

void GeneratedTensors::Read(const TensorInfo& tensor, uint64_t begin, uint64_t bytes, void* dst) const {
  const Spec& spec = specs_.at(tensor.name);
  uint64_t h = 0xCBF29CE484222325ull;  // FNV-1a
  for (unsigned char c : tensor.name) h = (h ^ c) * 0x100000001B3ull;
  auto* out = static_cast<char*>(dst);
  for (uint64_t i = begin / sizeof(float); i < (begin + bytes) / sizeof(float); ++i) {
    uint64_t z = h + salt_ + (i + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    const double u = static_cast<double>(z >> 40) / 16777216.0 * 2 - 1;
    const float value = static_cast<float>(spec.mean + spec.amp * u);
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  }
}

}  // namespace hearth::testing
