#include "gpu_worker/experts/expert_cache.h"

#include <algorithm>
#include <cstring>

namespace hearth {

ExpertCache::ExpertCache(const HomeView& home, int32_t slots, const kernels::Backend& backend)
    : home_(home),
      backend_(backend),
      tables_(static_cast<int32_t>(home.layers()), static_cast<int32_t>(home.experts()), slots),
      arena_(slots, home.record_stride(), backend) {}

void ExpertCache::Fill(int32_t slot, int layer, int expert, void* stream) {
  backend_.memory->upload(stream, arena_.slot(slot),
                          home_.record(static_cast<uint32_t>(layer), static_cast<uint32_t>(expert)),
                          home_.record_stride());
}

void ExpertCache::Unpin(const std::vector<int32_t>& slots) {
  const auto lock = Lock();
  const cache::View v = view();
  for (int32_t slot : slots) cache::Unpin(v, slot);
}

ExpertCache::Comparison ExpertCache::Verify(uint32_t samples) {
  const auto total = static_cast<uint32_t>(slots());
  const uint32_t step = samples == 0 || samples >= total ? 1 : total / samples;
  Comparison result;
  std::vector<std::byte> bytes(home_.record_stride());
  for (uint32_t slot = 0; slot < total; slot += step) {
    // Locked for one slot at a time, so that a running step waits for one comparison at most.
    const auto lock = Lock();
    const cache::View v = view();
    const int32_t key = v.owner[slot];
    if (key < 0 || v.pinned[slot]) continue;
    const auto experts = static_cast<int32_t>(home_.experts());
    const std::byte* truth = home_.record(static_cast<uint32_t>(key / experts), static_cast<uint32_t>(key % experts));
    // A copy into the slot may still be on its way; it is part of what synchronizing waits for.
    backend_.memory->download(backend_.stream, bytes.data(), arena_.slot(static_cast<int32_t>(slot)), bytes.size());
    backend_.memory->synchronize(backend_.stream);
    ++result.compared;
    if (std::memcmp(truth, bytes.data(), bytes.size()) != 0) ++result.different;
  }
  return result;
}

void ExpertCache::CopyCounters(LaneStats& stats) {
  const cache::State& state = *view().state;
  stats.cache_hits.Set(state.counters.hits);
  stats.cache_misses.Set(state.counters.misses);
  stats.admissions.Set(state.counters.admissions);
  stats.evictions.Set(state.counters.evictions);
  stats.slots.Set(static_cast<uint64_t>(slots()));
  stats.slots_used.Set(static_cast<uint64_t>(state.used));
  stats.slots_lent.Set(static_cast<uint64_t>(state.lent));
}

}  // namespace hearth
