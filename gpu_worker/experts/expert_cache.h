#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "common/expert_home/home_view.h"
#include "gpu_worker/experts/cache_tables.h"
#include "gpu_worker/experts/lane_stats.h"
#include "gpu_worker/experts/slot_arena.h"
#include "gpu_worker/experts/slot_check.h"

namespace hearth {

// Arena and tables together. One thread, that of the steps, decides what the slots hold; it does so under Lock(), so
// that others may read the tables.
class ExpertCache {
 public:
  ExpertCache(const HomeView& home, int32_t slots, const kernels::Backend& backend);

  [[nodiscard]] std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }
  cache::View view() { return tables_.view(); }
  int32_t Key(int layer, int expert) const { return tables_.Key(layer, expert); }
  std::byte* slot(int32_t i) const { return arena_.slot(i); }
  int32_t slots() const { return arena_.slots(); }
  uint64_t arena_bytes() const { return arena_.bytes(); }

  // Copies an expert's record into the slot that Admit gave it, in the order of the stream's work.
  void Fill(int32_t slot, int layer, int expert, void* stream);
  void Unpin(const std::vector<int32_t>& slots);  // takes the lock

  // A step waits for so much at most: some ten milliseconds, whether it is copied on the host or across PCIe.
  static constexpr uint64_t kVerifiedAtOnce = uint64_t{32} << 20;
  // Compares used slots with the home, byte by byte: `samples` of them spread over the arena, or all with 0. Goes on
  // from `check` until it has compared `bytes` or a little more; false when no slot is left. Between steps, on their
  // thread.
  bool Verify(uint32_t samples, SlotCheck& check, uint64_t bytes = kVerifiedAtOnce);

  void CopyCounters(LaneStats& stats);  // under the lock

 private:
  // What a used slot should hold; null for one that is free, lent or pinned.
  const std::byte* TruthOf(int32_t slot);

  const HomeView& home_;
  const kernels::Backend& backend_;
  std::mutex mutex_;
  CacheTables tables_;
  SlotArena arena_;
};

}  // namespace hearth
