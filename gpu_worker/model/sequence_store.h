#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu_worker/model/model_config.h"
#include "kernels/backend.h"

namespace hearth {

// Per-sequence memory: a fixed number of recurrent-state slots and a pool of pages for latents and pool keys. Taken
// once at start; a sequence borrows one slot and, on demand, pages. Used by the step thread alone.
class SequenceStore {
 public:
  struct Limits {
    int slots = 0;            // sequences admitted at once (-ambs)
    int64_t pool_tokens = 0;  // -cs; rounded up to whole pages
    kernels::KvType kv_type = kernels::KvType::kF32;
  };
  using Slot = int;  // 0 .. slots-1

  // Everything of one sequence, taken out of the store; putting it back restores every bit.
  struct Saved {
    std::vector<std::byte> state;
    std::vector<std::byte> pages;
    int64_t length = 0;
    size_t bytes() const { return state.size() + pages.size(); }
  };

  // State and pages lie in the memory of `backend`, which outlives the store.
  SequenceStore(const ModelConfig& config, const Limits& limits, const kernels::Backend& backend);
  ~SequenceStore();

  // Bytes the constructor takes, for the memory table.
  static size_t StateBytesPerSlot(const ModelConfig& config);
  static size_t PageBytes(const ModelConfig& config, kernels::KvType kv_type);
  static int64_t PageTokens(const ModelConfig& config);

  // A zeroed slot, or -1 when all are taken.
  Slot Open();
  void Close(Slot slot);  // returns slot and pages
  // Makes room for `tokens` tokens in all. False, and nothing changed, when the pool has not enough free pages.
  bool Reserve(Slot slot, int64_t tokens);

  int64_t length(Slot slot) const;  // tokens that went through the model
  int64_t page_tokens() const { return page_tokens_; }
  int64_t free_tokens() const;  // in free pages
  int64_t total_tokens() const;
  int free_slots() const;

  Saved Save(Slot slot) const;
  // Into a slot from Open(); false when the pool has not enough pages (the slot stays open and empty).
  bool Restore(Slot slot, const Saved& saved);

  // For the graph.
  void Advance(Slot slot, int64_t tokens);
  kernels::Real* kda_state(int kda_layer, Slot slot);
  kernels::Real* conv_history(int kda_layer, Slot slot);
  kernels::Real* index_tail(int mla_layer, Slot slot);
  void* latent_pool(int mla_layer);
  void* pool_keys(int mla_layer);
  std::span<const int32_t> pages(Slot slot) const;
  kernels::KvType kv_type() const { return limits_.kv_type; }

 private:
  struct Sequence {
    bool open = false;
    int64_t length = 0;
    std::vector<int32_t> pages;
  };

  ModelConfig config_;
  Limits limits_;
  int64_t page_tokens_;
  size_t latent_page_bytes_, key_page_bytes_;
  size_t history_reals_, kda_reals_, tail_reals_;
  std::vector<Sequence> sequences_;
  std::vector<int32_t> free_pages_;  // the lowest id is taken first
  int64_t page_count_;
  const kernels::Backend& backend_;
  kernels::Real* state_ = nullptr;  // [slot][kda states | histories | tails]
  std::byte* pool_ = nullptr;       // [mla layer][latent pages | key pages]; touched as it is used

  size_t state_reals() const;
  size_t layer_pool_bytes() const;
};

}  // namespace hearth
