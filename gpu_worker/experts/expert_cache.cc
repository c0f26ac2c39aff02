#include "gpu_worker/experts/expert_cache.h"

#include <cstring>
#include <memory>

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

bool ExpertCache::Verify(uint32_t samples, SlotCheck& check, uint64_t bytes) {
  const auto total = static_cast<uint32_t>(slots());
  const uint32_t step = samples == 0 || samples >= total ? 1 : total / samples;
  const uint64_t record_bytes = home_.record_stride();
  const auto copy = std::make_unique_for_overwrite<std::byte[]>(record_bytes);
  for (uint64_t done = 0; done < bytes && check.next_slot < total; check.next_slot += step) {
    const std::byte* truth = TruthOf(static_cast<int32_t>(check.next_slot));
    if (truth == nullptr) continue;
    // A copy into the slot may still be on its way; it is part of what synchronizing waits for.
    backend_.memory->download(backend_.stream, copy.get(), arena_.slot(static_cast<int32_t>(check.next_slot)),
                              record_bytes);
    backend_.memory->synchronize(backend_.stream);
    ++check.compared;
    if (std::memcmp(truth, copy.get(), record_bytes) != 0) ++check.different;
    done += record_bytes;
  }
  return check.next_slot < total;
}

const std::byte* ExpertCache::TruthOf(int32_t slot) {
  const auto lock = Lock();
  const cache::View v = view();
  const int32_t key = v.owner[slot];
  if (key < 0 || v.pinned[slot]) return nullptr;
  const auto experts = static_cast<int32_t>(home_.experts());
  return home_.record(static_cast<uint32_t>(key / experts), static_cast<uint32_t>(key % experts));
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
