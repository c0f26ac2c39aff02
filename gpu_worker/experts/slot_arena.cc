#include "gpu_worker/experts/slot_arena.h"

#include <sys/mman.h>

#include <algorithm>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "common/base/status.h"

namespace hearth {
namespace {

// On the host only address space is taken, so that a cache larger than the RAM in use costs nothing until it is filled.
void* MapSlots(const kernels::Backend& backend, uint64_t bytes) {
  if (!backend.memory->is_host) return backend.memory->allocate(bytes);
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return base == MAP_FAILED ? nullptr : base;
}

}  // namespace

SlotArena::SlotArena(int32_t slots, uint64_t slot_bytes, const kernels::Backend& backend)
    : slots_(slots), slot_bytes_(slot_bytes), backend_(backend) {
  if (bytes() == 0) return;
  base_ = static_cast<std::byte*>(MapSlots(backend, bytes()));
  if (base_ == nullptr) {
    throw StartupError(StrCat("expert cache: no room for ", FormatBytes(bytes()), " in ", slots,
                              " slots; set a smaller GLM53_EC_MAX_SLOTS or GLM53_VRAM_GB"));
  }
}

SlotArena::~SlotArena() {
  if (base_ == nullptr) return;
  if (backend_.memory->is_host) {
    ::munmap(base_, bytes());
  } else {
    backend_.memory->release(base_);
  }
}

void LendChunks(const cache::View& view, int32_t want, int32_t chunk, std::vector<int32_t>& lent) {
  for (int32_t end = view.slots; end > 0 && want > 0;) {
    const int32_t begin = std::max(0, end - std::min(chunk, want));
    const auto free_to_go = [&](int32_t slot) { return view.owner[slot] != cache::kLent && !view.pinned[slot]; };
    bool whole = true;
    for (int32_t slot = begin; slot < end; ++slot) whole = whole && free_to_go(slot);
    if (whole) {
      for (int32_t slot = begin; slot < end; ++slot) {
        cache::Lend(view, slot);
        lent.push_back(slot);
      }
      want -= end - begin;
    }
    end = begin;
  }
}

void TakeBackAll(const cache::View& view, std::vector<int32_t>& lent) {
  for (int32_t slot : lent) cache::TakeBack(view, slot);
  lent.clear();
}

}  // namespace hearth
