#include "gpu_worker/experts/prefill_lane.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hearth {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kBytesPerQuestion = 256 * kMiB;  // between two looks at `cancelled`
constexpr auto kPatience = 10s;                     // for one staged record, before it is read from the home
constexpr int32_t kChunkSlots = 64;
constexpr int32_t kSlotsKept = 8;  // of every 8 slots of the arena, one is never lent

}  // namespace

PrefillLane::PrefillLane(const HomeView& home, const kernels::Backend& backend, ExpertCache& cache, LaneStats& stats,
                         const ExecutorOptions& options, std::unique_ptr<CopyEngine> copies)
    : home_(home),
      backend_(backend),
      cache_(cache),
      stats_(stats),
      options_(options),
      copies_(copies != nullptr ? std::move(copies) : MakeCopyEngine(backend)),
      timer_(backend),
      batch_(backend, home) {
  for (Buffer& buffer : buffers_) buffer.place_of.assign(home.experts(), -1);
}

PrefillLane::~PrefillLane() { ReturnSlots(); }

Status PrefillLane::Run(const MoeStep& step, int next_moe_layer, const std::function<bool()>& cancelled) {
  if (cancelled && cancelled()) {
    ReturnSlots();
    return Cancelled("cancelled during prefill");
  }
  timer_.Collect();
  picks_.Build(step.ids, step.rows, step.top_k, static_cast<int>(home_.experts()));
  const bool stages = picks_.picks() >= static_cast<int64_t>(home_.experts()) && options_.force != ForceSource::kPcie;
  if (stages && !borrowing()) Borrow();
  Plan(step);
  if (stages && borrowing()) {
    if (BufferOf(step.moe_layer) < 0) Stage(0, step.moe_layer, true);
    if (next_moe_layer >= 0 && BufferOf(next_moe_layer) < 0) {
      Stage(1 - BufferOf(step.moe_layer), next_moe_layer, false);
    }
  }
  const int buffer = BufferOf(step.moe_layer);
  const Status status = Compute(step, buffer, cancelled);
  if (!status.ok()) batch_.Clear();
  cache_.Unpin(pinned_);
  if (buffer >= 0) {
    copies_->Stop(buffer);
    buffers_[buffer].layer = -1;
  }
  if (!status.ok() || next_moe_layer < 0) ReturnSlots();
  const auto lock = cache_.Lock();
  cache_.CopyCounters(stats_);
  return status;
}

void PrefillLane::Plan(const MoeStep& step) {
  pinned_.clear();
  slot_of_group_.clear();
  const auto lock = cache_.Lock();
  const cache::View view = cache_.view();
  const double weight = cache::AdvancePrefill(view, step.rows, static_cast<int32_t>(home_.layers()));
  for (const PickGroup& group : picks_.groups()) {
    const int32_t slot = cache::NotePrefill(view, cache_.Key(step.moe_layer, group.expert), group.picks, weight);
    if (slot >= 0) pinned_.push_back(slot);
    slot_of_group_.push_back(options_.force == ForceSource::kPcie ? cache::kNone : slot);
  }
}

// Nothing is lent while the free slots can take all that is missing: those experts are admitted instead.
void PrefillLane::Borrow() {
  const auto lock = cache_.Lock();
  const cache::View view = cache_.view();
  if (cache::FreeSlots(view) >= view.keys - view.state->used) return;
  const auto lent = static_cast<int64_t>(lent_activations_.size());
  const int64_t elastic = static_cast<int64_t>(options_.elastic_bytes / home_.record_stride()) - lent;
  const int64_t kept = view.slots - (view.slots + kSlotsKept - 1) / kSlotsKept - lent;
  const auto stage = static_cast<int64_t>(options_.stage_bytes / home_.record_stride());
  const int64_t per_buffer = std::min({static_cast<int64_t>(home_.experts()), stage, elastic / 2, kept / 2});
  if (per_buffer < 1) return;
  LendChunks(view, static_cast<int32_t>(2 * per_buffer), kChunkSlots, lent_);
  const auto half = static_cast<std::ptrdiff_t>(lent_.size() / 2);
  buffers_[0].slots.assign(lent_.begin(), lent_.begin() + half);
  buffers_[1].slots.assign(lent_.begin() + half, lent_.begin() + 2 * half);
}

int PrefillLane::BufferOf(int layer) const {
  for (int b = 0; b < CopyEngine::kCopyBatches; ++b) {
    if (buffers_[b].layer == layer) return b;
  }
  return -1;
}

void PrefillLane::Stage(int index, int layer, bool picked_only) {
  copies_->Stop(index);
  Buffer& buffer = buffers_[index];
  for (int32_t expert : buffer.experts) buffer.place_of[static_cast<size_t>(expert)] = -1;
  buffer.experts.clear();
  buffer.layer = layer;
  std::vector<CopyEngine::Copy> copies;
  const auto add = [&](int32_t expert) {
    if (buffer.experts.size() == buffer.slots.size()) return;
    if (cache_.view().slot_of[cache_.Key(layer, expert)] != cache::kNone) return;
    const size_t place = buffer.experts.size();
    buffer.place_of[static_cast<size_t>(expert)] = static_cast<int32_t>(place);
    buffer.experts.push_back(expert);
    copies.push_back({home_.record(static_cast<uint32_t>(layer), static_cast<uint32_t>(expert)),
                      cache_.slot(buffer.slots[place]), home_.record_stride()});
  };
  if (picked_only) {
    for (const PickGroup& group : picks_.groups()) add(group.expert);
  } else {
    for (int32_t expert = 0; expert < static_cast<int32_t>(home_.experts()); ++expert) add(expert);
  }
  copies_->Start(index, std::move(copies));
}

Status PrefillLane::Compute(const MoeStep& step, int buffer, const std::function<bool()>& cancelled) {
  const std::vector<PickGroup>& groups = picks_.groups();
  const auto place_of = [&](const PickGroup& group) {
    return buffer < 0 ? -1 : buffers_[buffer].place_of[static_cast<size_t>(group.expert)];
  };
  // What needs no copy comes first and gives the copies time. A run of one way is cut where `cancelled` is asked.
  std::vector<std::pair<Way, size_t>> order;
  for (size_t g = 0; g < groups.size(); ++g) {
    order.emplace_back(slot_of_group_[g] >= 0 ? Way::kSlot : place_of(groups[g]) >= 0 ? Way::kStaged : Way::kHome, g);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  uint64_t run_bytes = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    auto [way, g] = order[i];
    const PickGroup& group = groups[g];
    const std::byte* record = nullptr;
    if (way == Way::kSlot) record = cache_.slot(slot_of_group_[g]);
    if (way == Way::kStaged) {
      const auto place = static_cast<size_t>(place_of(group));
      if (WaitForStaged(buffer, place, cancelled)) record = cache_.slot(buffers_[buffer].slots[place]);
    }
    if (record == nullptr) {
      if (cancelled && cancelled()) return Cancelled("cancelled during prefill");
      way = Way::kHome;
      record = DirectRecord(step, group.expert);
    }
    batch_.Add(step, picks_, group, record);
    const auto picks = static_cast<uint64_t>(group.picks);
    PerWay(stats_.picks, way).Add(picks);
    PerWay(stats_.bytes, way).Add(home_.record_stride());
    run_bytes += home_.record_stride();
    const bool last_of_way = i + 1 == order.size() || order[i + 1].first != way;
    if (!last_of_way && run_bytes < kBytesPerQuestion) continue;
    Flush(step, way);
    run_bytes = 0;
    if (cancelled && cancelled()) return Cancelled("cancelled during prefill");
  }
  return Status::Ok();
}

void PrefillLane::Flush(const MoeStep& step, Way way) {
  timer_.Begin();
  batch_.Run(step, kernels::Phase::kPrefill);
  timer_.End([this, way](double seconds) { AddSeconds(PerWay(stats_.busy_ns, way), seconds); });
}

// A free slot is filled on the way: the bytes are read anyhow.
const std::byte* PrefillLane::DirectRecord(const MoeStep& step, int32_t expert) {
  int32_t slot = cache::kNone;
  if (options_.admission != cache::Admission::kNever && options_.force != ForceSource::kPcie) {
    const auto lock = cache_.Lock();
    const cache::View view = cache_.view();
    if (cache::FreeSlots(view) > 0) {
      slot = cache::Admit(view, cache_.Key(step.moe_layer, expert), cache::Admission::kAlways);
    }
  }
  if (slot == cache::kNone) return home_.record(static_cast<uint32_t>(step.moe_layer), static_cast<uint32_t>(expert));
  pinned_.push_back(slot);
  cache_.Fill(slot, step.moe_layer, expert, backend_.stream);
  return cache_.slot(slot);
}

bool PrefillLane::WaitForStaged(int buffer, size_t place, const std::function<bool()>& cancelled) {
  const Deadline patience = Deadline::After(kPatience);
  while (!copies_->WaitFor(buffer, place, Deadline::Earlier(patience, Deadline::After(20ms)))) {
    if (patience.Passed() || (cancelled && cancelled())) return false;
  }
  return true;
}

void PrefillLane::ReturnSlots() {
  for (int b = 0; b < CopyEngine::kCopyBatches; ++b) {
    copies_->Stop(b);
    buffers_[b].layer = -1;
    buffers_[b].slots.clear();
  }
  if (lent_.empty()) return;
  const auto lock = cache_.Lock();
  TakeBackAll(cache_.view(), lent_);
  cache_.CopyCounters(stats_);
}

std::byte* PrefillLane::LendActivations(uint64_t bytes) {
  if (backend_.memory->is_host) return nullptr;  // nothing is short there
  const auto want = static_cast<int32_t>((bytes + home_.record_stride() - 1) / home_.record_stride());
  if (want > static_cast<int32_t>(lent_activations_.size())) {
    ReturnSlots();
    TakeBackActivations();
    if (want > cache_.slots() - cache_.slots() / kSlotsKept) return nullptr;
    const auto lock = cache_.Lock();
    LendChunks(cache_.view(), want, want, lent_activations_);
    cache_.CopyCounters(stats_);
  }
  if (lent_activations_.empty()) return nullptr;
  return cache_.slot(*std::min_element(lent_activations_.begin(), lent_activations_.end()));
}

void PrefillLane::TakeBackActivations() {
  if (lent_activations_.empty()) return;
  const auto lock = cache_.Lock();
  TakeBackAll(cache_.view(), lent_activations_);
  cache_.CopyCounters(stats_);
}

}  // namespace hearth
