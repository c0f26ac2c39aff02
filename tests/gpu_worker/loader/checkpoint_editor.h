#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gpu_worker/loader/checkpoint.h"

namespace hearth::testing {

// A checkpoint in memory that tests damage and write out again.
struct CheckpointEditor {
  struct Tensor {
    std::string dtype;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  std::map<std::string, Tensor> tensors;
  std::string config;      // config.json
  std::string storage;     // quantization_config.json, not written when empty
  std::string weight_map;  // index, not written when empty

  explicit CheckpointEditor(const std::string& directory);
  // One file model.safetensors and the texts.
  void Write(const std::string& directory) const;
};

// The bytes of a safetensors file.
std::string SafetensorsBytes(const std::map<std::string, CheckpointEditor::Tensor>& tensors);
std::string WithHeader(const std::string& header, const std::string& data);

}  // namespace hearth::testing
