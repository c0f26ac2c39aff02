#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gpu_worker/experts/cost_model.h"
#include "gpu_worker/experts/cpu_lane.h"
#include "gpu_worker/experts/executor_options.h"
#include "gpu_worker/experts/expert_cache.h"
#include "gpu_worker/experts/lane_stats.h"
#include "gpu_worker/experts/lane_timer.h"
#include "gpu_worker/experts/look_ahead.h"
#include "gpu_worker/experts/moe_executor.h"
#include "gpu_worker/experts/pick_groups.h"
#include "gpu_worker/experts/placement.h"
#include "gpu_worker/experts/popularity.h"
#include "gpu_worker/experts/prefill_lane.h"
#include "gpu_worker/experts/run_group.h"
#include "gpu_worker/experts/side_stream.h"

namespace hearth {

// The executor that serves: experts from cache slots, from the home across PCIe, or computed by cpu_tier. Equals
// DirectExecutor bit for bit whatever the cache holds and whichever lane is taken. One thread runs steps, and
// Verify() between them; stats() and popularity() may be called from any.
class LaneExecutor : public MoeExecutor {
 public:
  // `home`, `backend` and `lane` must outlive this object; `lane` may be null.
  LaneExecutor(const HomeView& home, const kernels::Backend& backend, const ExecutorOptions& options, CpuLane* lane);
  ~LaneExecutor() override;

  Status BeginDecode(const MoeStep& step) override;
  Status FinishDecode(const MoeStep& step) override;
  bool WantsHints() const override;
  Status Prefill(const MoeStep& step, int next_moe_layer, const std::function<bool()>& cancelled) override;
  std::byte* LendActivations(uint64_t bytes) override { return prefill_.LendActivations(bytes); }
  void TakeBackActivations() override { prefill_.TakeBackActivations(); }

  // Fills free slots with the experts picked most often in earlier runs, and begins to count this run's picks. Between
  // steps, on their thread.
  void WarmStart(const Popularity& earlier);
  // What decode has picked since then. Any thread.
  Popularity popularity();

  LaneSnapshot stats() const { return Snapshot(stats_); }
  // See ExpertCache.
  bool Verify(uint32_t samples, SlotCheck& check) { return cache_.Verify(samples, check); }

  struct MemoryPart {
    std::string name;
    uint64_t bytes;
  };
  // For the sum at start: what is allocated here. Staging buffers are lent slots and cost nothing of their own.
  std::vector<MemoryPart> memory() const;

 private:
  void TouchAndAdmit(const MoeStep& step, bool admit);
  void ChooseSources(bool cpu_up);
  void PublishCpu(const MoeStep& step);
  void RunHits(const MoeStep& step);
  void RunPcie(const MoeStep& step);
  void AddAhead(const MoeStep& step);
  void FetchAhead(const MoeStep& step);
  void FinishCpu(const MoeStep& step);
  void RunLate(const MoeStep& step);
  void CopyRows(const MoeStep& step, const float* rows);
  const std::byte* RecordOf(const MoeStep& step, size_t group);

  const HomeView& home_;
  const kernels::Backend& backend_;
  const ExecutorOptions options_;
  CpuLane* const lane_;
  LaneStats stats_;
  ExpertCache cache_;
  std::vector<uint64_t> picked_;  // per key, by decode; under the cache's lock
  double decoded_tokens_ = 0;     // likewise
  PrefillLane prefill_;
  CostModel cost_;
  SideStream pcie_;  // misses cross PCIe beside everything else
  LookAhead ahead_;
  double misses_ = 0;  // of a decode layer, on average
  LaneTimer timer_, pcie_timer_;
  GroupBatch batch_, pcie_batch_;
  std::mt19937_64 random_;

  // The step between BeginDecode and FinishDecode.
  bool open_ = false;
  PickGroups picks_;
  std::vector<PlacementInput> inputs_;  // per group
  std::vector<int32_t> slot_of_group_;
  std::vector<Source> sources_;
  std::vector<int32_t> pinned_;
  std::vector<CpuJob::Expert> cpu_experts_;
  std::vector<kernels::CopyPiece> cpu_rows_;
  double cpu_weight_ = 0;
  bool published_ = false;
  Deadline cpu_deadline_ = Deadline::Never();
  std::chrono::steady_clock::time_point published_at_;
  int64_t decode_layers_ = 0;  // since the last prefill call
};

}  // namespace hearth
