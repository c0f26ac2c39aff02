#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "common/base/status.h"
#include "kernels/real.h"

namespace hearth {

// What the next MoE layer will probably pick: its router applied to this layer's input. Only a hint; wrong ones cost
// time and change no result.
struct PickHints {
  int moe_layer = -1;
  // [rows, top_k] each, in host memory; whole when the backend's mark `ready` has been passed (null: now).
  const int32_t* ids = nullptr;
  const kernels::Real* weights = nullptr;
  void* ready = nullptr;
};

// Runs the routed experts of one MoE layer. The graph knows only this; cache, staging, lanes and deadlines are behind.
//
// Every pick gets a row of its own in pick_out, so neither the source of an expert nor the order of work can change
// the sum that the graph forms afterwards.
struct MoeStep {
  int moe_layer = 0;                      // ordinal among the MoE layers
  const kernels::Real* x = nullptr;       // [rows, hidden]
  const kernels::Real* x_host = nullptr;  // the same in host memory; decode only
  // [rows, top_k], ascending within a row; host memory. That they are there says that the device is done with every
  // layer before and that x is whole.
  const int32_t* ids = nullptr;
  int64_t rows = 0;
  int top_k = 0;
  kernels::Real* pick_out = nullptr;  // [rows, top_k, hidden]
  PickHints hints;                    // decode; without ids where there are none
};

class MoeExecutor {
 public:
  virtual ~MoeExecutor() = default;

  // Plans a decode step, publishes the CPU's picks and starts the misses across PCIe. `Finish` must follow; between the
  // two the graph may run what needs no expert.
  virtual Status BeginDecode(const MoeStep& step) = 0;
  // Computes hits, waits for the PCIe lane, and for the CPU lane (with its deadline and fallback). On return pick_out
  // is whole.
  virtual Status FinishDecode(const MoeStep& step) = 0;

  // Whether hints for the next layer would be used in the coming decode layer; making them costs a router.
  virtual bool WantsHints() const { return false; }

  // Prefill never uses the CPU lane. `next_moe_layer` (or -1) is staged while this layer computes. `cancelled` is asked
  // about every 256 MB of copying; when it says yes the call returns kCancelled.
  virtual Status Prefill(const MoeStep& step, int next_moe_layer, const std::function<bool()>& cancelled) = 0;

  // Memory for the activations of a chunk, lent by the expert cache until it is given back. Null: the cache has none to
  // spare or need not, take your own.
  virtual std::byte* LendActivations(uint64_t bytes) = 0;
  virtual void TakeBackActivations() = 0;
};

}  // namespace hearth
