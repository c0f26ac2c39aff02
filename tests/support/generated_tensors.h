#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "gpu_worker/loader/tensor_source.h"

namespace hearth::testing {

// The weights of tests/golden/glm5_next_tiny.json: fp32 values from a hash of tensor name and element number, as the
// file's `generator` describes.
class GeneratedTensors : public TensorSource {
 public:
  explicit GeneratedTensors(const nlohmann::json& oracle);

  std::vector<std::string> Names() const override;
  const TensorInfo* Find(const std::string& name) const override;
  void Read(const TensorInfo& tensor, uint64_t begin, uint64_t bytes, void* dst) const override;
  using TensorSource::Read;
  std::string Place(const TensorInfo&) const override { return Place(); }
  std::string Place() const override { return "generated tensors"; }
  std::string Fingerprint() const override { return "0123456789abcdef0123456789abcdef"; }

  // The first values of the tensor that the oracle lists for checking this generator.
  static constexpr double kCheckTolerance = 1e-7;

 private:
  struct Spec {
    TensorInfo info;
    double mean, amp;
  };
  uint64_t salt_;
  std::map<std::string, Spec> specs_;
};

}  // namespace hearth::testing
