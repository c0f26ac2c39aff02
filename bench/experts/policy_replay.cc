#include "bench/experts/policy_replay.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "gpu_worker/experts/slot_arena.h"

namespace hearth {

PolicyReplay::PolicyReplay(const Setup& setup)
    : setup_(setup), tables_(setup.layers, setup.experts, setup.slots), count_(static_cast<size_t>(setup.experts)) {
  cache::State& state = *tables_.view().state;
  state.adapt = setup.half_life == 0;
  if (setup.half_life > 0) state.clock.half_life = setup.half_life;
}

void PolicyReplay::Decode(const std::vector<std::vector<int32_t>>& tokens) {
  const cache::View view = tables_.view();
  for (int layer = 0; layer < setup_.layers; ++layer) {
    cache::AdvanceTime(view, static_cast<double>(tokens.size()) / setup_.layers);
    pinned_.clear();
    missed_.clear();
    const auto pick = [&](size_t row, int k) { return tokens[row][static_cast<size_t>(layer * setup_.picks + k)]; };
    for (size_t row = 0; row < tokens.size(); ++row) {
      for (int k = 0; k < setup_.picks; ++k) ++count_[static_cast<size_t>(pick(row, k))];
    }
    for (size_t row = 0; row < tokens.size(); ++row) {
      for (int k = 0; k < setup_.picks; ++k) {
        int32_t& count = count_[static_cast<size_t>(pick(row, k))];
        if (count == 0) continue;  // touched with an earlier row
        const int32_t key = tables_.Key(layer, pick(row, k));
        const int32_t slot = cache::Touch(view, key, count);
        count = 0;
        if (slot >= 0) pinned_.push_back(slot);
        if (slot < 0) missed_.push_back(key);
      }
    }
    for (int32_t key : missed_) {
      const int32_t slot = cache::Admit(view, key, setup_.admission);
      if (slot >= 0) pinned_.push_back(slot);
    }
    for (int32_t slot : pinned_) cache::Unpin(view, slot);
  }
  tokens_ += static_cast<int64_t>(tokens.size());
}

void PolicyReplay::Prefill(const std::vector<int32_t>& counts, int32_t rows, int32_t lent) {
  constexpr int32_t kChunkSlots = 64;
  const cache::View view = tables_.view();
  std::vector<int32_t> borrowed;
  LendChunks(view, lent, kChunkSlots, borrowed);
  for (int layer = 0; layer < setup_.layers; ++layer) {
    const double weight = cache::AdvancePrefill(view, rows, setup_.layers);
    pinned_.clear();
    for (int expert = 0; expert < setup_.experts; ++expert) {
      const int32_t key = tables_.Key(layer, expert), picks = counts[static_cast<size_t>(key)];
      if (picks == 0) continue;
      const int32_t slot = cache::NotePrefill(view, key, picks, weight);
      if (slot >= 0) pinned_.push_back(slot);
    }
    for (int32_t slot : pinned_) cache::Unpin(view, slot);
  }
  TakeBackAll(view, borrowed);
}

PolicyReplay::Figures PolicyReplay::TakeFigures() {
  const cache::Counters now = tables_.view().state->counters;
  const double hits = static_cast<double>(now.hits - before_.hits);
  const double misses = static_cast<double>(now.misses - before_.misses);
  const double tokens = static_cast<double>(tokens_);
  const Figures figures{hits / (hits + misses), static_cast<double>(now.admissions - before_.admissions) / tokens,
                        misses / tokens};
  before_ = now;
  tokens_ = 0;
  return figures;
}

double BestFixedSet(const std::vector<std::vector<int32_t>>& tokens, const PolicyReplay::Setup& setup) {
  std::vector<int64_t> count(static_cast<size_t>(setup.layers * setup.experts));
  for (const std::vector<int32_t>& token : tokens) {
    for (size_t i = 0; i < token.size(); ++i) {
      const int layer = static_cast<int>(i) / setup.picks;
      ++count[static_cast<size_t>(layer * setup.experts + token[i])];
    }
  }
  std::sort(count.begin(), count.end(), std::greater<>());
  const auto end = count.begin() + std::min<std::ptrdiff_t>(setup.slots, static_cast<std::ptrdiff_t>(count.size()));
  const auto sum = [](auto from, auto to) { return static_cast<double>(std::accumulate(from, to, int64_t{0})); };
  return sum(count.begin(), end) / sum(count.begin(), count.end());
}

}  // namespace hearth
