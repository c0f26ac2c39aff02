#pragma once

#include "gpu_worker/experts/moe_executor.h"
#include "kernels/backend.h"
#include "kernels/device_array.h"

namespace hearth {

// Makes the hints of a decode layer: the next layer's router, applied to this layer's input, which attention will
// change only little. One at a time: the arrays of a hint are those of the one before.
class HintMaker {
 public:
  explicit HintMaker(const kernels::Backend& backend);
  ~HintMaker();
  HintMaker(const HintMaker&) = delete;
  HintMaker& operator=(const HintMaker&) = delete;

  // Runs `router`, whose outputs are not set, on the backend's stream; does not wait for it.
  PickHints Make(kernels::RouterArgs router, int moe_layer);

 private:
  const kernels::Backend& ops_;
  void* const copied_;                 // the hints have reached the host
  kernels::DeviceArray<int32_t> ids_;  // [rows, top_k], like the others
  kernels::DeviceArray<kernels::Real> weights_;
  kernels::HostArray<int32_t> host_ids_;
  kernels::HostArray<kernels::Real> host_weights_;
};

}  // namespace hearth
