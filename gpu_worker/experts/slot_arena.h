#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/experts/cache_policy.h"
#include "kernels/backend.h"

namespace hearth {

// The memory of the expert cache: one allocation of equal slots in the backend's memory. On the host pages are taken
// when first written. Throws StartupError when there is no room.
class SlotArena {
 public:
  SlotArena(int32_t slots, uint64_t slot_bytes, const kernels::Backend& backend);
  ~SlotArena();
  SlotArena(const SlotArena&) = delete;
  SlotArena& operator=(const SlotArena&) = delete;

  int32_t slots() const { return slots_; }
  uint64_t bytes() const { return static_cast<uint64_t>(slots_) * slot_bytes_; }
  std::byte* slot(int32_t i) const { return base_ + static_cast<uint64_t>(i) * slot_bytes_; }

 private:
  int32_t slots_;
  uint64_t slot_bytes_;
  const kernels::Backend& backend_;
  std::byte* base_ = nullptr;
};

// Lends up to `want` slots from the upper end of the arena downwards, in chunks of neighbours so that a borrower can
// use a chunk as one piece of memory; a chunk with a pinned slot is passed over. Adds the slots to `lent`.
void LendChunks(const cache::View& view, int32_t want, int32_t chunk, std::vector<int32_t>& lent);

// Gives all of them back, empty, and clears the list.
void TakeBackAll(const cache::View& view, std::vector<int32_t>& lent);

}  // namespace hearth
