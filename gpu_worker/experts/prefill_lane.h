#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu_worker/experts/copy_engine.h"
#include "gpu_worker/experts/executor_options.h"
#include "gpu_worker/experts/expert_cache.h"
#include "gpu_worker/experts/lane_stats.h"
#include "gpu_worker/experts/lane_timer.h"
#include "gpu_worker/experts/moe_executor.h"
#include "gpu_worker/experts/pick_groups.h"
#include "gpu_worker/experts/run_group.h"

namespace hearth {

// The experts of a prefill chunk. A chunk with at least as many picks as a layer has experts needs nearly all of them:
// those outside the cache are copied one layer ahead into one of two staging buffers, made of slots that the cache
// lends. A smaller chunk reads what it misses from the home. Free slots are filled on the way.
class PrefillLane {
 public:
  // `copies`: null for the engine that suits the backend.
  PrefillLane(const HomeView& home, const kernels::Backend& backend, ExpertCache& cache, LaneStats& stats,
              const ExecutorOptions& options, std::unique_ptr<CopyEngine> copies = nullptr);
  ~PrefillLane();

  Status Run(const MoeStep& step, int next_moe_layer, const std::function<bool()>& cancelled);
  // Gives lent slots back to the cache; staged copies are dropped.
  void ReturnSlots();
  // On a device, the upper end of the arena as one piece; null when it is too small for that.
  std::byte* LendActivations(uint64_t bytes);
  void TakeBackActivations();
  bool borrowing() const { return !lent_.empty(); }

 private:
  struct Buffer {
    int layer = -1;
    std::vector<int32_t> slots;     // room for one record each
    std::vector<int32_t> experts;   // staged, in copying order
    std::vector<int32_t> place_of;  // [experts of a layer] place in `experts`, or -1
  };

  void Plan(const MoeStep& step);
  void Borrow();
  void Stage(int buffer, int layer, bool picked_only);
  int BufferOf(int layer) const;
  // How a group's bytes are reached.
  enum class Way { kSlot, kHome, kStaged };
  template <typename T>
  static T& PerWay(PerLane<T>& figures, Way way) {
    return way == Way::kSlot ? figures.vram : way == Way::kHome ? figures.pcie : figures.staged;
  }
  Status Compute(const MoeStep& step, int buffer, const std::function<bool()>& cancelled);
  void Flush(const MoeStep& step, Way way);
  const std::byte* DirectRecord(const MoeStep& step, int32_t expert);
  bool WaitForStaged(int buffer, size_t place, const std::function<bool()>& cancelled);

  const HomeView& home_;
  const kernels::Backend& backend_;
  ExpertCache& cache_;
  LaneStats& stats_;
  const ExecutorOptions options_;
  std::unique_ptr<CopyEngine> copies_;
  LaneTimer timer_;
  GroupBatch batch_;
  PickGroups picks_;
  std::vector<int32_t> slot_of_group_;
  std::vector<int32_t> pinned_;
  std::vector<int32_t> lent_;              // for staging
  std::vector<int32_t> lent_activations_;  // neighbours
  Buffer buffers_[CopyEngine::kCopyBatches];
};

}  // namespace hearth
