#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu_worker/experts/direct_executor.h"
#include "gpu_worker/loader/device_model.h"
#include "gpu_worker/model/decoder.h"

namespace hearth::testing {

// A temporary folder for expert homes, removed at the end.
class TemporaryHome {
 public:
  TemporaryHome();
  ~TemporaryHome();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A loaded model with everything that a forward pass needs, driven sequence by sequence. Experts come straight from the
// home unless another executor is given.
class ModelRunner {
 public:
  struct Options {
    int64_t chunk_size = 8192;
    int slots = 4;
    int64_t pool_tokens = 4096;
    kernels::KvType kv_type = kernels::KvType::kF32;
  };

  ModelRunner(LoadedModel& model, const kernels::Backend& backend, const Options& options,
              MoeExecutor* executor = nullptr);

  Decoder& decoder() { return *decoder_; }
  SequenceStore& store() { return store_; }

  // Prefills in chunks; logits of every row, [tokens, vocab].
  std::vector<kernels::Real> Prefill(SequenceStore::Slot slot, std::span<const int32_t> tokens);
  // One decode step per token; logits of every row.
  std::vector<kernels::Real> Decode(SequenceStore::Slot slot, std::span<const int32_t> tokens);
  // A fresh sequence: rows before `decode_from` prefilled, the others decoded.
  std::vector<kernels::Real> Run(std::span<const int32_t> tokens, int64_t decode_from);

  // Keeps the intermediates of prefill from now on: name -> values of all rows, in order.
  void Record();
  const std::map<std::string, std::vector<kernels::Real>>& recorded() const { return recorded_; }

 private:
  LoadedModel& model_;
  DeviceModel device_;
  DirectExecutor direct_;
  SequenceStore store_;
  Options options_;
  std::unique_ptr<Decoder> decoder_;
  std::map<std::string, std::vector<kernels::Real>> recorded_;
};

}  // namespace hearth::testing
