#pragma once

#include <functional>
#include <vector>

#include "gpu_worker/model/decoder.h"
#include "gpu_worker/scheduler/step_engine.h"

namespace hearth {

// The real model behind StepEngine.
class DecoderEngine final : public StepEngine {
 public:
  // Decoder and store outlive this object. `picks` reads the executor's counters.
  DecoderEngine(Decoder& decoder, SequenceStore& store, const ModelConfig& config, const Decoder::Limits& limits,
                std::function<LanePicks()> picks);

  int vocab_size() const override { return decoder_.vocab_size(); }
  int64_t chunk_size() const override { return limits_.chunk_size; }
  int64_t max_batch_rows() const override { return limits_.max_batch_rows; }

  Slot Open() override { return store_.Open(); }
  void Close(Slot slot) override { store_.Close(slot); }
  bool Reserve(Slot slot, int64_t tokens) override { return store_.Reserve(slot, tokens); }
  int64_t length(Slot slot) const override { return store_.length(slot); }
  int free_slots() const override { return store_.free_slots(); }
  int64_t free_tokens() const override { return store_.free_tokens(); }
  int64_t total_tokens() const override { return store_.total_tokens(); }
  int64_t page_tokens() const override { return store_.page_tokens(); }
  size_t SavedBytes(Slot slot) const override;
  Saved Save(Slot slot) const override { return store_.Save(slot); }
  bool Restore(Slot slot, const Saved& saved) override { return store_.Restore(slot, saved); }

  void BeginChunk(Slot slot, std::span<const int32_t> tokens) override { decoder_.BeginChunk(slot, tokens); }
  Status StepLayer(const std::function<bool()>& cancelled) override { return decoder_.StepLayer(cancelled); }
  bool chunk_done() const override { return decoder_.chunk_done(); }
  void AbandonChunk() override { decoder_.AbandonChunk(); }
  void ChunkLogits(int64_t begin, int64_t count, float* logits) override { decoder_.ChunkLogits(begin, count, logits); }
  Status Decode(std::span<const Row> rows, float* logits) override;
  LanePicks picks() const override { return picks_ ? picks_() : LanePicks{}; }

 private:
  Decoder& decoder_;
  SequenceStore& store_;
  const Decoder::Limits limits_;
  const size_t state_bytes_, page_bytes_;
  const std::function<LanePicks()> picks_;
  std::vector<Decoder::DecodeRow> rows_;
};

}  // namespace hearth
