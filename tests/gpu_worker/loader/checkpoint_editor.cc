#include "tests/gpu_worker/loader/checkpoint_editor.h"

#include "tests/gpu_worker/loader/temp_dir.h"

namespace hearth::testing {

CheckpointEditor::CheckpointEditor(const std::string& directory) {
  const Checkpoint checkpoint(directory);
  config = checkpoint.config_text();
  for (const std::string& name : checkpoint.Names()) {
    const TensorInfo& info = *checkpoint.Find(name);
    Tensor& tensor = tensors[name];
    tensor.dtype = DTypeName(info.dtype);
    tensor.shape = info.shape;
    tensor.bytes.resize(info.bytes);
    checkpoint.Read(info, tensor.bytes.data());
  }
}

std::string WithHeader(const std::string& header, const std::string& data) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i) & 0xFF);
  return file + header + data;
}

std::string SafetensorsBytes(const std::map<std::string, CheckpointEditor::Tensor>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  return WithHeader(header.dump(), data);
}

void CheckpointEditor::Write(const std::string& directory) const {
  WriteFile(directory + "/model.safetensors", SafetensorsBytes(tensors));
  WriteFile(directory + "/config.json", config);
  if (!storage.empty()) WriteFile(directory + "/quantization_config.json", storage);
  if (!weight_map.empty()) WriteFile(directory + "/model.safetensors.index.json", weight_map);
}

}  // namespace hearth::testing
