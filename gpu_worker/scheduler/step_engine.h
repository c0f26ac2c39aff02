#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "common/base/status.h"
#include "gpu_worker/model/sequence_store.h"
#include "gpu_worker/scheduler/output.h"

namespace hearth {

// What the scheduler needs of a model: sequences with room, a prefill cursor, decode steps. DecoderEngine puts it on
// the real one; tests have one without weights. Used by one thread. Rules of order are those of Decoder and
// SequenceStore.
class StepEngine {
 public:
  using Slot = int;
  using Saved = SequenceStore::Saved;
  struct Row {
    Slot slot;
    int32_t token;
  };

  virtual ~StepEngine() = default;

  virtual int vocab_size() const = 0;
  virtual int64_t chunk_size() const = 0;      // a multiple of 64
  virtual int64_t max_batch_rows() const = 0;  // rows of one decode step

  virtual Slot Open() = 0;  // -1: no slot is free
  virtual void Close(Slot slot) = 0;
  virtual bool Reserve(Slot slot, int64_t tokens) = 0;
  virtual int64_t length(Slot slot) const = 0;
  virtual int free_slots() const = 0;
  virtual int64_t free_tokens() const = 0;
  virtual int64_t total_tokens() const = 0;
  virtual int64_t page_tokens() const = 0;
  virtual size_t SavedBytes(Slot slot) const = 0;  // what Save would take
  virtual Saved Save(Slot slot) const = 0;
  virtual bool Restore(Slot slot, const Saved& saved) = 0;

  virtual void BeginChunk(Slot slot, std::span<const int32_t> tokens) = 0;
  virtual Status StepLayer(const std::function<bool()>& cancelled) = 0;
  virtual bool chunk_done() const = 0;
  virtual void AbandonChunk() = 0;  // finished or not
  virtual void ChunkLogits(int64_t begin, int64_t count, float* logits) = 0;
  virtual Status Decode(std::span<const Row> rows, float* logits) = 0;

  // Picks by lane since the start.
  virtual LanePicks picks() const = 0;
};

}  // namespace hearth
