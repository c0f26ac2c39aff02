#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/automaton/walk_space.h"

namespace hearth {

// Where a text stands in an automaton: the set of configurations after what was read so far. Copies are cheap and share
// a WalkSpace, so walkers of one space belong to one thread at a time.
class AutomatonWalker {
 public:
  // Before the first byte.
  explicit AutomatonWalker(std::shared_ptr<WalkSpace> space) : space_(std::move(space)), set_(space_->start()) {}
  // `checked` passed Automaton::Check().
  static AutomatonWalker Start(Automaton checked) {
    return AutomatonWalker(std::make_shared<WalkSpace>(std::make_shared<const PreparedAutomaton>(std::move(checked))));
  }

  void AdvanceByte(uint8_t byte) {
    Renew();
    set_ = space_->Next(set_, byte);
  }
  void AdvanceText(std::string_view text) {
    for (char c : text) AdvanceByte(static_cast<uint8_t>(c));
  }
  // An added token; bytes of ordinary ones go through AdvanceText.
  void AdvanceToken(int32_t added_token) {
    Renew();
    set_ = space_->NextToken(set_, added_token);
  }
  // What no automaton reads.
  void Leave() { set_ = WalkSpace::kDead; }

  // The text may end here.
  bool can_end() const { return space_->can_end(set_); }
  // The text has left the language, or all configurations were dropped (then cut() holds as well).
  bool empty() const { return WalkSpace::Dead(set_); }
  // Configurations were dropped on the way: the walker may refuse what the automaton admits, never the reverse.
  bool cut() const { return space_->cut(set_); }
  std::string Key() const { return space_->Key(set_); }

  const std::shared_ptr<WalkSpace>& space() const { return space_; }
  int32_t set() const { return set_; }
  // Goes on in another space over the same automaton.
  void MoveTo(std::shared_ptr<WalkSpace> space) {
    set_ = space->Import(*space_, set_);
    space_ = std::move(space);
  }

 private:
  void Renew() {
    if (space_->full()) MoveTo(std::make_shared<WalkSpace>(space_->prepared()));
  }

  std::shared_ptr<WalkSpace> space_;
  int32_t set_;
};

}  // namespace hearth
