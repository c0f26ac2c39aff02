#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/automaton/automaton_walker.h"
#include "common/base/result.h"
#include "gpu_worker/constraint/token_masker.h"

namespace hearth {

// One automaton over one vocabulary with one choice of stop ids, as any number of generations use it. What one of them
// has worked out helps the others and changes nothing for them: masks depend on the automaton and the text alone.
// Made on any thread; from then on the step thread alone calls it.
class ConstraintProgram {
 public:
  // Stop ids mean the end and are never text. They are in a mask exactly where the text may end, and nowhere when
  // `ending` is false (then nothing but a complete text ends the generation).
  struct Stops {
    std::vector<int32_t> ids;
    bool ending = true;
    bool operator==(const Stops&) const = default;
  };
  static constexpr size_t kMaxMasks = 64;

  // `checked` passed Automaton::Check().
  ConstraintProgram(Automaton checked, std::shared_ptr<const ConstraintVocabulary> vocabulary, Stops stops);

  AutomatonWalker Start();
  // Which ids may come next. Valid until the next call.
  Result<const TokenMask*> MaskFor(AutomatonWalker& walker);
  // Reads one token that is not a stop id; the walker is empty afterwards when the token leaves the language.
  void Advance(AutomatonWalker& walker, int32_t id);
  bool IsStop(int32_t id) const;
  // Everything but the stop ids.
  const TokenMask& all_but_stops() const { return all_but_stops_; }

  uint64_t masks_made() const { return masks_made_; }

 private:
  // Moves the walker to a space that has room.
  void Settle(AutomatonWalker& walker);

  const std::shared_ptr<const ConstraintVocabulary> vocabulary_;
  const Stops stops_;
  std::shared_ptr<WalkSpace> space_;
  TokenMasker masker_;
  TokenMask all_but_stops_;
  uint64_t masks_made_ = 0;

  // The masks used last, the latest first.
  struct Entry {
    std::string key;
    TokenMask mask;
  };
  std::list<Entry> masks_;
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace hearth
