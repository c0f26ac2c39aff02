#include "gpu_worker/constraint/constraint_program.h"

#include <algorithm>

namespace hearth {

ConstraintProgram::ConstraintProgram(Automaton checked, std::shared_ptr<const ConstraintVocabulary> vocabulary,
                                     Stops stops)
    : vocabulary_(std::move(vocabulary)),
      stops_(std::move(stops)),
      space_(std::make_shared<WalkSpace>(std::make_shared<const PreparedAutomaton>(std::move(checked)))),
      masker_(vocabulary_) {
  const size_t size = vocabulary_->size();
  all_but_stops_.bits.assign((size + 63) / 64, ~uint64_t{0});
  if (size % 64 != 0) all_but_stops_.bits.back() = (uint64_t{1} << (size % 64)) - 1;
  for (int32_t id : stops_.ids) all_but_stops_.Clear(id);
  all_but_stops_.empty = false;
}

AutomatonWalker ConstraintProgram::Start() {
  if (space_->full()) space_ = std::make_shared<WalkSpace>(space_->prepared());
  return AutomatonWalker(space_);
}

void ConstraintProgram::Settle(AutomatonWalker& walker) {
  if (space_->full()) space_ = std::make_shared<WalkSpace>(space_->prepared());
  if (walker.space() != space_) walker.MoveTo(space_);
}

Result<const TokenMask*> ConstraintProgram::MaskFor(AutomatonWalker& walker) {
  std::string key = walker.Key();
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    masks_.splice(masks_.begin(), masks_, known->second);
    return &masks_.front().mask;
  }
  Settle(walker);
  ++masks_made_;
  Entry entry{.key = std::move(key), .mask = {}};
  if (Status status = masker_.Fill(walker, entry.mask); !status.ok()) return status;
  TokenMask& mask = entry.mask;
  for (int32_t id : stops_.ids) mask.Clear(id);
  if (stops_.ending && walker.can_end()) {
    for (int32_t id : stops_.ids) mask.Set(id);
  }
  mask.empty = std::all_of(mask.bits.begin(), mask.bits.end(), [](uint64_t word) { return word == 0; });
  if (masks_.size() == kMaxMasks) {
    by_key_.erase(masks_.back().key);
    masks_.pop_back();
  }
  masks_.push_front(std::move(entry));
  by_key_.emplace(masks_.front().key, masks_.begin());
  return &masks_.front().mask;
}

void ConstraintProgram::Advance(AutomatonWalker& walker, int32_t id) {
  Settle(walker);
  if (vocabulary_->IsAdded(id)) return walker.AdvanceToken(id);
  const std::string& bytes = vocabulary_->bytes.ordinary[static_cast<size_t>(id)];
  if (bytes.empty()) return walker.Leave();
  walker.AdvanceText(bytes);
}

bool ConstraintProgram::IsStop(int32_t id) const {
  return std::find(stops_.ids.begin(), stops_.ids.end(), id) != stops_.ids.end();
}

}  // namespace hearth
