#pragma once

#include <bit>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/matrix/matrix_view.h"

namespace hearth::testing {

// Reading of tests/golden/exl3_vectors.json.
inline nlohmann::json ReadExl3Vectors() {
  std::ifstream file(HEARTH_SOURCE_DIR "/tests/golden/exl3_vectors.json");
  return nlohmann::json::parse(file);
}

inline Codebook CodebookNamed(const std::string& name) {
  if (name == "mul1") return Codebook::kMul1;
  return name == "mcg" ? Codebook::kMcg : Codebook::k3inst;
}

// Numbers of `digits` hex digits each, most significant first.
template <typename T>
std::vector<T> HexNumbers(const std::string& text, size_t digits) {
  std::vector<T> numbers;
  for (size_t i = 0; i + digits <= text.size(); i += digits) {
    numbers.push_back(static_cast<T>(std::stoul(text.substr(i, digits), nullptr, 16)));
  }
  return numbers;
}
inline std::vector<uint8_t> HexBytes(const std::string& text) { return HexNumbers<uint8_t>(text, 2); }
inline std::vector<uint16_t> HexU16(const std::string& text) { return HexNumbers<uint16_t>(text, 4); }
inline std::vector<float> HexF32(const std::string& text) {
  std::vector<float> values;
  for (uint32_t bits : HexNumbers<uint32_t>(text, 8)) values.push_back(std::bit_cast<float>(bits));
  return values;
}

}  // namespace hearth::testing
