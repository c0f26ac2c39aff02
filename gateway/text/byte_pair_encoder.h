#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/text/tokenizer_definition.h"

namespace hearth::text {

// Byte-pair encoding of single pieces: start from bytes, join the adjacent pair of highest priority (leftmost first)
// until no pair has a rule. n log n in the length of a piece. Immutable; safe from many threads.
class BytePairEncoder {
 public:
  // `definition` outlives this object.
  explicit BytePairEncoder(const TokenizerDefinition& definition);

  // Working memory of one caller, reused from piece to piece.
  struct Scratch {
    struct Symbol {
      int32_t id;
      int32_t previous;  // -1 at the beginning
      int32_t next;      // -1 at the end
    };
    struct Candidate {
      int32_t rank;
      int32_t position;  // of the left symbol
      int32_t left, right, result;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  // Appends the ids of `piece` (non-empty, under 2 GiB).
  void Encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  struct Rule {
    uint64_t pair;  // left << 32 | right; kNoPair marks a free place
    int32_t rank;
    int32_t result;
  };
  static constexpr uint64_t kNoPair = ~0ull;

  const Rule* FindRule(int32_t left, int32_t right) const;
  void Propose(Scratch& scratch, int32_t position) const;

  int32_t byte_ids_[256];
  std::vector<Rule> rules_;  // open addressing, a power of two of places, at most half full
  uint64_t rule_mask_ = 0;
  bool whole_pieces_;  // ignore_merges: a piece that is an entry is taken whole
  std::unordered_map<std::string_view, int32_t> whole_;
};

}  // namespace hearth::text
