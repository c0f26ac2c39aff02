#pragma once

#include <cstdint>

#include "gpu_worker/loader/load_model.h"
#include "kernels/device_array.h"

namespace hearth {

// A loaded model where the backend's ops read it. On the host that is where it lies. On a device the dense weights and
// the experts' scale vectors are copied, and the embedding table and the expert home stay in host memory that is made
// reachable; the host's copy of the dense weights is no longer needed (model.weights.storage). Throws StartupError when
// there is no room or the memory cannot be registered. `model` and `backend` outlive this object.
class DeviceModel {
 public:
  DeviceModel(const LoadedModel& model, const kernels::Backend& backend);
  ~DeviceModel();
  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  const ModelWeights& weights() const { return weights_; }
  const HomeView& home() const { return home_; }

  // Device memory that the dense weights of a model take.
  static uint64_t WeightBytes(const ModelConfig& config, const ModelWeights& weights);

 private:
  void Register(const void* memory, uint64_t bytes, const char* what);

  const kernels::Backend& backend_;
  ModelWeights weights_;
  HomeView home_;
  kernels::DeviceArray<std::byte> dense_, scales_;
  std::vector<void*> registered_;
};

}  // namespace hearth
