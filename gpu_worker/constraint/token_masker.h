#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/automaton/automaton_walker.h"
#include "common/base/status.h"
#include "gpu_worker/constraint/token_trie.h"
#include "gpu_worker/constraint/vocabulary_bytes.h"

namespace hearth {

// The vocabulary as constraints look at it. Immutable; made once.
struct ConstraintVocabulary {
  explicit ConstraintVocabulary(VocabularyBytes of) : bytes(std::move(of)), trie(bytes.ordinary) {}
  size_t size() const { return bytes.ordinary.size(); }
  bool IsAdded(int32_t id) const;

  VocabularyBytes bytes;
  TokenTrie trie;
};

// One bit for each id of the vocabulary.
struct TokenMask {
  std::vector<uint64_t> bits;
  bool empty = true;
  bool cut = false;  // some token was given up because its walk got too deep or too wide

  bool Has(int32_t id) const { return (bits[static_cast<size_t>(id) / 64] >> (static_cast<size_t>(id) % 64) & 1) != 0; }
  void Set(int32_t id) { bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (static_cast<size_t>(id) % 64); }
  void Clear(int32_t id) { bits[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (static_cast<size_t>(id) % 64)); }
};

// Finds the tokens after which a text is still in the language. Not thread-safe: calls share room.
class TokenMasker {
 public:
  // Edges that one mask may look at or follow, counted as if nothing were known before.
  static constexpr uint64_t kMaxWork = uint64_t{1} << 27;

  explicit TokenMasker(std::shared_ptr<const ConstraintVocabulary> vocabulary);

  // Sets the bits of all ordinary and added tokens that the walker survives, and no other. What the space learns stays
  // in it. INVALID_ARGUMENT: the automaton is too ambiguous for a mask in bounded time.
  Status Fill(const AutomatonWalker& walker, TokenMask& mask);

 private:
  Status FillOrdinary(const AutomatonWalker& walker, TokenMask& mask);
  std::shared_ptr<WalkSpace> MovePath(const WalkSpace& from, size_t depth);
  Status FillAdded(const AutomatonWalker& walker, TokenMask& mask);

  const std::shared_ptr<const ConstraintVocabulary> vocabulary_;
  struct Place {
    int32_t set = 0;
    uint32_t cost = 0;
  };
  std::vector<Place> path_;  // by depth; [0] is the walker's own
  std::vector<int32_t> named_;
};

}  // namespace hearth
