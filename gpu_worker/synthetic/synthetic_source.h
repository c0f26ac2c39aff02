#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "gpu_worker/synthetic/synthetic_tensors.h"

namespace hearth {

// The tensors of a synthetic model, made when they are read, on all cores.
class SyntheticSource : public TensorSource {
 public:
  // `place` is what messages call it, `config_text` the text that config and settings came from.
  SyntheticSource(const ModelConfig& config, const SyntheticSettings& settings, std::string place,
                  const std::string& config_text);

  std::vector<std::string> Names() const override;
  const TensorInfo* Find(const std::string& name) const override;
  void Read(const TensorInfo& tensor, uint64_t begin, uint64_t bytes, void* dst) const override;
  using TensorSource::Read;
  bool WriteStrips(const TensorInfo& trellis, kernels::Dim begin, kernels::Dim end, std::byte* strips) const override;
  std::string Place(const TensorInfo&) const override { return place_; }
  std::string Place() const override { return place_; }
  std::string Fingerprint() const override { return fingerprint_; }

 private:
  const SyntheticTensor& Of(const TensorInfo& tensor) const;

  const std::string place_;
  std::string fingerprint_;
  std::unordered_map<std::string, SyntheticTensor> tensors_;
};

}  // namespace hearth
