#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "gpu_worker/scheduler/counter_random.h"
#include "gpu_worker/scheduler/step_engine.h"

namespace hearth {

// An engine without a model: logits are a hash of the tokens before them, so any mix-up of sequences, any lost or
// doubled token, shows in the output. Checks the rules of order that the real one demands.
class FakeEngine : public StepEngine {
 public:
  struct Shape {
    int slots = 4;
    int64_t pool_tokens = 1024;
    int64_t page_tokens = 16;
    int64_t chunk_size = 64;
    int64_t max_batch_rows = 4;
    int layers = 3;
    int vocab = 40;
  };
  explicit FakeEngine(Shape shape)
      : shape_(shape),
        sequences_(static_cast<size_t>(shape.slots)),
        free_pages_(shape.pool_tokens / shape.page_tokens) {}

  // Called at the start of every layer and decode step.
  std::function<void()> on_layer = [] {};
  std::function<void(std::span<const Row>)> on_decode = [](std::span<const Row>) {};
  Status layer_status, decode_status;

  static uint64_t After(uint64_t state, int32_t token) { return Mix64(state * 31 + static_cast<uint64_t>(token) + 1); }
  static void Logits(uint64_t state, std::span<float> logits) {
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(Mix64(state + i) % 100000) / 10000.0f;
  }

  int vocab_size() const override { return shape_.vocab; }
  int64_t chunk_size() const override { return shape_.chunk_size; }
  int64_t max_batch_rows() const override { return shape_.max_batch_rows; }

  Slot Open() override {
    for (size_t i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].open) continue;
      sequences_[i] = {.open = true};
      return static_cast<Slot>(i);
    }
    return -1;
  }
  void Close(Slot slot) override {
    HEARTH_CHECK(At(slot).open && !(chunk_active_ && chunk_slot_ == slot), "closing a slot that is in use");
    free_pages_ += At(slot).pages;
    At(slot) = {};
  }
  bool Reserve(Slot slot, int64_t tokens) override {
    const int64_t pages = (tokens + shape_.page_tokens - 1) / shape_.page_tokens;
    const int64_t more = std::max<int64_t>(0, pages - At(slot).pages);
    if (more > free_pages_) return false;
    free_pages_ -= more;
    At(slot).pages += more;
    return true;
  }
  int64_t length(Slot slot) const override { return sequences_[static_cast<size_t>(slot)].length; }
  int free_slots() const override {
    return static_cast<int>(std::count_if(sequences_.begin(), sequences_.end(), [](auto& s) { return !s.open; }));
  }
  int64_t free_tokens() const override { return free_pages_ * shape_.page_tokens; }
  int64_t total_tokens() const override { return shape_.pool_tokens / shape_.page_tokens * shape_.page_tokens; }
  int64_t page_tokens() const override { return shape_.page_tokens; }
  size_t SavedBytes(Slot slot) const override { return sizeof(uint64_t) + static_cast<size_t>(length(slot)); }
  Saved Save(Slot slot) const override {
    const Sequence& s = sequences_[static_cast<size_t>(slot)];
    Saved saved{.state = std::vector<std::byte>(sizeof s.state),
                .pages = std::vector<std::byte>(static_cast<size_t>(s.length)),
                .length = s.length};
    std::memcpy(saved.state.data(), &s.state, sizeof s.state);
    return saved;
  }
  bool Restore(Slot slot, const Saved& saved) override {
    HEARTH_CHECK(At(slot).open && At(slot).length == 0, "restoring into a used slot");
    if (!Reserve(slot, saved.length)) return false;
    std::memcpy(&At(slot).state, saved.state.data(), sizeof(uint64_t));
    At(slot).length = saved.length;
    return true;
  }

  void BeginChunk(Slot slot, std::span<const int32_t> tokens) override {
    HEARTH_CHECK(!chunk_active_ && At(slot).open, "one chunk at a time");
    HEARTH_CHECK(At(slot).length % 64 == 0, "a chunk starts at a multiple of 64");
    HEARTH_CHECK(!tokens.empty() && static_cast<int64_t>(tokens.size()) <= shape_.chunk_size, "chunk length");
    CheckRoom(slot, static_cast<int64_t>(tokens.size()));
    chunk_active_ = holds_chunk_ = true;
    chunk_slot_ = slot;
    layers_done_ = 0;
    chunk_.assign(tokens.begin(), tokens.end());
    states_.clear();
  }
  Status StepLayer(const std::function<bool()>& cancelled) override {
    HEARTH_CHECK(chunk_active_, "a layer without a chunk");
    on_layer();
    if (cancelled()) return Cancelled("inside");
    if (!layer_status.ok()) return layer_status;
    picks_.pcie += chunk_.size();
    if (++layers_done_ < shape_.layers) return Status::Ok();
    Sequence& s = At(chunk_slot_);
    for (int32_t token : chunk_) states_.push_back(s.state = After(s.state, token));
    s.length += static_cast<int64_t>(chunk_.size());
    chunk_active_ = false;
    return Status::Ok();
  }
  bool chunk_done() const override { return !chunk_active_; }
  void AbandonChunk() override { chunk_active_ = holds_chunk_ = false; }
  // Would a real engine still hold memory for a chunk's activations?
  bool holds_chunk() const { return holds_chunk_; }
  void ChunkLogits(int64_t begin, int64_t count, float* logits) override {
    HEARTH_CHECK(!chunk_active_ && begin >= 0 && begin + count <= static_cast<int64_t>(states_.size()), "chunk rows");
    const size_t vocab = static_cast<size_t>(shape_.vocab);
    for (int64_t i = 0; i < count; ++i) {
      Logits(states_[static_cast<size_t>(begin + i)], {logits + static_cast<size_t>(i) * vocab, vocab});
    }
  }
  Status Decode(std::span<const Row> rows, float* logits) override {
    HEARTH_CHECK(!rows.empty() && static_cast<int64_t>(rows.size()) <= shape_.max_batch_rows, "rows of a step");
    on_decode(rows);
    if (!decode_status.ok()) return decode_status;
    const size_t vocab = static_cast<size_t>(shape_.vocab);
    std::map<Slot, int> seen;
    for (size_t i = 0; i < rows.size(); ++i) {
      HEARTH_CHECK(++seen[rows[i].slot] == 1, "a sequence twice in a step");
      CheckRoom(rows[i].slot, 1);
      Sequence& s = At(rows[i].slot);
      s.state = After(s.state, rows[i].token);
      ++s.length;
      Logits(s.state, {logits + i * vocab, vocab});
    }
    picks_.vram += rows.size() * 8;
    return Status::Ok();
  }
  LanePicks picks() const override { return picks_; }

 private:
  struct Sequence {
    bool open = false;
    uint64_t state = 7;
    int64_t length = 0;
    int64_t pages = 0;
  };
  Sequence& At(Slot slot) { return sequences_[static_cast<size_t>(slot)]; }
  void CheckRoom(Slot slot, int64_t more) {
    const Sequence& s = At(slot);
    HEARTH_CHECK(s.open && s.length + more <= s.pages * shape_.page_tokens, "room was reserved");
  }

  Shape shape_;
  std::vector<Sequence> sequences_;
  int64_t free_pages_;
  bool chunk_active_ = false, holds_chunk_ = false;
  Slot chunk_slot_ = -1;
  int layers_done_ = 0;
  std::vector<int32_t> chunk_;
  std::vector<uint64_t> states_;
  LanePicks picks_;
};

}  // namespace hearth
