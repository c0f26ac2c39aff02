#pragma once

#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "gateway/text/json_text.h"
#include "gateway/text/tokenizer.h"

namespace hearth::text {

inline std::string ReadText(const std::string& path_in_source) {
  std::ifstream file(std::string(HEARTH_SOURCE_DIR) + "/" + path_in_source, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path_in_source);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline OrderedJson ReadJson(const std::string& path_in_source) {
  return *ParseJsonKeepingNumbers(ReadText(path_in_source));
}

inline const Tokenizer& TinyTokenizer() {
  static const Tokenizer tokenizer = [] {
    auto loaded = Tokenizer::Load(std::string(HEARTH_SOURCE_DIR) + "/models/hearth-tiny/tokenizer.json");
    if (!loaded.ok()) throw std::runtime_error(loaded.status().message());
    return *std::move(loaded);
  }();
  return tokenizer;
}

// `text` in pieces of 1 to `longest` bytes.
inline std::vector<std::string> RandomCuts(const std::string& text, std::mt19937& random, size_t longest) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t length = 1 + random() % longest;
    pieces.push_back(text.substr(at, length));
    at += length;
  }
  return pieces;
}

}  // namespace hearth::text
