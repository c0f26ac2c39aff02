#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/experts/cache_policy.h"

namespace hearth {

// Host memory for a cache::View.
class CacheTables {
 public:
  CacheTables(int32_t layers, int32_t experts, int32_t slots)
      : experts_(experts),
        slot_of_(static_cast<size_t>(layers) * static_cast<size_t>(experts)),
        score_(slot_of_.size()),
        watched_(static_cast<size_t>(cache::WatchedCount(layers * experts))),
        owner_(static_cast<size_t>(slots)),
        referenced_(owner_.size()),
        pinned_(owner_.size()) {
    cache::Reset(view());
  }
  CacheTables(const CacheTables&) = delete;
  CacheTables& operator=(const CacheTables&) = delete;

  cache::View view() {
    cache::View v;
    v.slot_of = slot_of_.data();
    v.owner = owner_.data();
    v.referenced = referenced_.data();
    v.pinned = pinned_.data();
    v.score = score_.data();
    v.watched = watched_.data();
    v.state = &state_;
    v.keys = static_cast<int32_t>(slot_of_.size());
    v.slots = static_cast<int32_t>(owner_.size());
    return v;
  }
  int32_t Key(int layer, int expert) const { return layer * experts_ + expert; }

 private:
  int32_t experts_;
  std::vector<int32_t> slot_of_;
  std::vector<double> score_;
  std::vector<cache::Watched> watched_;
  std::vector<int32_t> owner_;
  std::vector<uint8_t> referenced_, pinned_;
  cache::State state_;
};

}  // namespace hearth
