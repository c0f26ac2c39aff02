#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu_worker/loader/json_text.h"
#include "gpu_worker/loader/safetensors.h"
#include "gpu_worker/loader/tensor_source.h"

namespace hearth {

// All tensors of a checkpoint directory. Names come from model.safetensors.index.json first; files that it does not
// mention only add names. Every tensor is resolved by itself: parts of one matrix may lie in different files.
class Checkpoint : public TensorSource {
 public:
  // Reads config, index and all headers (in parallel). Throws StartupError in one line naming file, tensor and reason.
  explicit Checkpoint(const std::string& directory);

  const std::string& config_text() const { return config_text_; }
  const std::string& generation_text() const { return generation_text_; }  // "" when there is no such file

  std::vector<std::string> Names() const override;
  const TensorInfo* Find(const std::string& name) const override;
  void Read(const TensorInfo& tensor, uint64_t begin, uint64_t bytes, void* dst) const override;
  using TensorSource::Read;
  std::string Place(const TensorInfo& tensor) const override;
  std::string Place() const override { return directory_; }
  std::optional<Codebook> DeclaredCodebook(const std::string& module) const override;
  std::string Fingerprint() const override { return fingerprint_; }
  uint64_t ContentStamp(const TensorInfo& tensor) const override { return files_[tensor.file]->stamp(); }

 private:
  void OpenFiles(const std::vector<std::string>& names);
  void ApplyIndex(const Json& weight_map);
  void AddStrayNames();
  void CheckMarkers() const;

  std::string directory_;
  std::string config_text_, generation_text_;
  std::vector<std::string> file_names_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::unordered_map<std::string, const TensorInfo*> tensors_;
  std::unordered_map<std::string, Codebook> declared_;
  std::string codebook_setting_;
  std::string fingerprint_;
};

}  // namespace hearth
