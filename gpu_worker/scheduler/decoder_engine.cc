#include "gpu_worker/scheduler/decoder_engine.h"

#include <utility>

namespace hearth {

DecoderEngine::DecoderEngine(Decoder& decoder, SequenceStore& store, const ModelConfig& config,
                             const Decoder::Limits& limits, std::function<LanePicks()> picks)
    : decoder_(decoder),
      store_(store),
      limits_(limits),
      state_bytes_(SequenceStore::StateBytesPerSlot(config)),
      page_bytes_(SequenceStore::PageBytes(config, store.kv_type())),
      picks_(std::move(picks)) {}

size_t DecoderEngine::SavedBytes(Slot slot) const { return state_bytes_ + store_.pages(slot).size() * page_bytes_; }

Status DecoderEngine::Decode(std::span<const Row> rows, float* logits) {
  rows_.clear();
  for (const Row& row : rows) rows_.push_back({row.slot, row.token});
  return decoder_.Decode(rows_, logits);
}

}  // namespace hearth
