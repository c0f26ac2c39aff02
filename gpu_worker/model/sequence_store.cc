#include "gpu_worker/model/sequence_store.h"

#include <algorithm>
#include <functional>

#include "common/base/byte_size.h"
#include "common/base/check.h"
#include "common/base/startup_error.h"

namespace hearth {
namespace {

using kernels::Real;

size_t KdaReals(const ModelConfig& c) { return static_cast<size_t>(c.kda_heads) * c.kda_head_dim * c.kda_head_dim; }
size_t HistoryReals(const ModelConfig& c) { return static_cast<size_t>(c.conv_kernel - 1) * 3 * c.kda_width(); }
size_t TailReals(const ModelConfig& c) { return static_cast<size_t>(c.index_kpool) * 2 * c.index_head_dim; }

// On the host, pages are backed only once they are touched.
void* ZeroedMemory(const kernels::Backend& backend, size_t bytes) {
  void* memory = backend.memory->allocate_zeroed(bytes);
  if (memory == nullptr)
    throw StartupError(StrCat("no room for ", FormatBytes(bytes), " of sequence state; lower -cs or -ambs"));
  return memory;
}

}  // namespace

size_t SequenceStore::StateBytesPerSlot(const ModelConfig& c) {
  return sizeof(Real) * (c.kda_layer_count() * (KdaReals(c) + HistoryReals(c)) + c.mla_layer_count() * TailReals(c));
}

int64_t SequenceStore::PageTokens(const ModelConfig& c) {
  constexpr int kWanted = 64;
  return static_cast<int64_t>(c.index_kpool) * ((kWanted + c.index_kpool - 1) / c.index_kpool);
}

size_t SequenceStore::PageBytes(const ModelConfig& c, kernels::KvType kv_type) {
  const size_t tokens = PageTokens(c);
  return c.mla_layer_count() * kernels::KvElementBytes(kv_type) *
         (tokens * c.kv_lora_rank + tokens / c.index_kpool * c.index_head_dim);
}

SequenceStore::SequenceStore(const ModelConfig& config, const Limits& limits, const kernels::Backend& backend)
    : config_(config), limits_(limits), page_tokens_(PageTokens(config)), backend_(backend) {
  HEARTH_CHECK(limits.slots > 0 && limits.pool_tokens > 0, "a sequence store without room");
  const size_t element = kernels::KvElementBytes(limits.kv_type);
  latent_page_bytes_ = element * page_tokens_ * config.kv_lora_rank;
  key_page_bytes_ = element * (page_tokens_ / config.index_kpool) * config.index_head_dim;
  kda_reals_ = KdaReals(config);
  history_reals_ = HistoryReals(config);
  tail_reals_ = TailReals(config);
  page_count_ = (limits.pool_tokens + page_tokens_ - 1) / page_tokens_;
  sequences_.resize(limits.slots);
  free_pages_.resize(page_count_);
  for (int64_t i = 0; i < page_count_; ++i) free_pages_[i] = static_cast<int32_t>(i);
  std::make_heap(free_pages_.begin(), free_pages_.end(), std::greater<>());
  state_ = static_cast<Real*>(ZeroedMemory(backend, sizeof(Real) * state_reals() * limits.slots));
  pool_ = static_cast<std::byte*>(ZeroedMemory(backend, layer_pool_bytes() * std::max(1, config.mla_layer_count())));
}

SequenceStore::~SequenceStore() {
  backend_.memory->release(state_);
  backend_.memory->release(pool_);
}

size_t SequenceStore::state_reals() const { return StateBytesPerSlot(config_) / sizeof(Real); }

size_t SequenceStore::layer_pool_bytes() const { return page_count_ * (latent_page_bytes_ + key_page_bytes_); }

SequenceStore::Slot SequenceStore::Open() {
  for (Slot slot = 0; slot < limits_.slots; ++slot) {
    Sequence& sequence = sequences_[slot];
    if (sequence.open) continue;
    sequence = Sequence{.open = true};
    backend_.memory->zero(backend_.stream, &state_[slot * state_reals()], sizeof(Real) * state_reals());
    return slot;
  }
  return -1;
}

void SequenceStore::Close(Slot slot) {
  Sequence& sequence = sequences_[slot];
  HEARTH_CHECK(sequence.open, StrCat("closing slot ", slot, " twice"));
  for (int32_t page : sequence.pages) {
    free_pages_.push_back(page);
    std::push_heap(free_pages_.begin(), free_pages_.end(), std::greater<>());
  }
  sequence = Sequence{};
}

bool SequenceStore::Reserve(Slot slot, int64_t tokens) {
  Sequence& sequence = sequences_[slot];
  HEARTH_CHECK(sequence.open, StrCat("reserving for closed slot ", slot));
  const int64_t wanted = (tokens + page_tokens_ - 1) / page_tokens_;
  const int64_t missing = wanted - static_cast<int64_t>(sequence.pages.size());
  if (missing > static_cast<int64_t>(free_pages_.size())) return false;
  for (int64_t i = 0; i < missing; ++i) {
    std::pop_heap(free_pages_.begin(), free_pages_.end(), std::greater<>());
    sequence.pages.push_back(free_pages_.back());
    free_pages_.pop_back();
  }
  return true;
}

int64_t SequenceStore::length(Slot slot) const { return sequences_[slot].length; }
int64_t SequenceStore::free_tokens() const { return static_cast<int64_t>(free_pages_.size()) * page_tokens_; }
int64_t SequenceStore::total_tokens() const { return page_count_ * page_tokens_; }

int SequenceStore::free_slots() const {
  return static_cast<int>(
      std::count_if(sequences_.begin(), sequences_.end(), [](const Sequence& s) { return !s.open; }));
}

void SequenceStore::Advance(Slot slot, int64_t tokens) {
  Sequence& sequence = sequences_[slot];
  sequence.length += tokens;
  HEARTH_CHECK(sequence.length <= static_cast<int64_t>(sequence.pages.size()) * page_tokens_,
               StrCat("slot ", slot, " grew past its pages"));
}

SequenceStore::Saved SequenceStore::Save(Slot slot) const {
  const Sequence& sequence = sequences_[slot];
  Saved saved;
  saved.length = sequence.length;
  const auto download = [this](std::byte* to, const void* from, size_t bytes) {
    backend_.memory->download(backend_.stream, to, from, bytes);
    return to + bytes;
  };
  saved.state.resize(sizeof(Real) * state_reals());
  download(saved.state.data(), &state_[slot * state_reals()], saved.state.size());
  const int64_t used = (sequence.length + page_tokens_ - 1) / page_tokens_;
  saved.pages.resize(used * config_.mla_layer_count() * (latent_page_bytes_ + key_page_bytes_));
  std::byte* to = saved.pages.data();
  for (int layer = 0; layer < config_.mla_layer_count(); ++layer) {
    const std::byte* latents = &pool_[layer * layer_pool_bytes()];
    const std::byte* keys = latents + page_count_ * latent_page_bytes_;
    for (int64_t i = 0; i < used; ++i) {
      const int64_t page = sequence.pages[i];
      to = download(to, latents + page * latent_page_bytes_, latent_page_bytes_);
      to = download(to, keys + page * key_page_bytes_, key_page_bytes_);
    }
  }
  backend_.memory->synchronize(backend_.stream);
  return saved;
}

bool SequenceStore::Restore(Slot slot, const Saved& saved) {
  Sequence& sequence = sequences_[slot];
  HEARTH_CHECK(sequence.open && sequence.length == 0, StrCat("restoring into slot ", slot, ", which is in use"));
  if (!Reserve(slot, saved.length)) return false;
  HEARTH_CHECK(saved.state.size() == sizeof(Real) * state_reals(), "saved state of another model");
  const auto upload = [this](void* to, const std::byte* from, size_t bytes) {
    backend_.memory->upload(backend_.stream, to, from, bytes);
    return from + bytes;
  };
  upload(&state_[slot * state_reals()], saved.state.data(), saved.state.size());
  const int64_t used = (saved.length + page_tokens_ - 1) / page_tokens_;
  const std::byte* from = saved.pages.data();
  for (int layer = 0; layer < config_.mla_layer_count(); ++layer) {
    std::byte* latents = &pool_[layer * layer_pool_bytes()];
    std::byte* keys = latents + page_count_ * latent_page_bytes_;
    for (int64_t i = 0; i < used; ++i) {
      const int64_t page = sequence.pages[i];
      from = upload(latents + page * latent_page_bytes_, from, latent_page_bytes_);
      from = upload(keys + page * key_page_bytes_, from, key_page_bytes_);
    }
  }
  sequence.length = saved.length;
  return true;
}

Real* SequenceStore::kda_state(int kda_layer, Slot slot) {
  return &state_[slot * state_reals() + kda_layer * kda_reals_];
}

Real* SequenceStore::conv_history(int kda_layer, Slot slot) {
  return &state_[slot * state_reals() + config_.kda_layer_count() * kda_reals_ + kda_layer * history_reals_];
}

Real* SequenceStore::index_tail(int mla_layer, Slot slot) {
  return &state_[slot * state_reals() + config_.kda_layer_count() * (kda_reals_ + history_reals_) +
                 mla_layer * tail_reals_];
}

void* SequenceStore::latent_pool(int mla_layer) { return &pool_[mla_layer * layer_pool_bytes()]; }

void* SequenceStore::pool_keys(int mla_layer) {
  return &pool_[mla_layer * layer_pool_bytes() + page_count_ * latent_page_bytes_];
}

std::span<const int32_t> SequenceStore::pages(Slot slot) const { return sequences_[slot].pages; }

}  // namespace hearth
