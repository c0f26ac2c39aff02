#include "gateway/text/byte_pair_encoder.h"

#include <algorithm>
#include <bit>

#include "common/base/check.h"

namespace hearth::text {
namespace {

uint64_t PairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

uint64_t Spread(uint64_t key) {
  key *= 0x9E3779B97F4A7C15ull;
  return key ^ key >> 32;
}

// For std::push_heap: "a comes after b".
bool ComesAfter(const BytePairEncoder::Scratch::Candidate& a, const BytePairEncoder::Scratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

}  // namespace

BytePairEncoder::BytePairEncoder(const TokenizerDefinition& definition) : whole_pieces_(definition.ignore_merges) {
  for (int32_t id = 0; id < definition.ordinary_end; ++id) {
    const std::string& bytes = definition.token_bytes[id];
    if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes[0])] = id;
  }
  if (whole_pieces_) {
    whole_.reserve(definition.ordinary_end);
    for (int32_t id = 0; id < definition.ordinary_end; ++id) {
      if (!definition.token_bytes[id].empty()) whole_.emplace(definition.token_bytes[id], id);
    }
  }
  rules_.assign(std::bit_ceil(definition.merges.size() * 2 + 2), Rule{kNoPair, 0, 0});
  rule_mask_ = rules_.size() - 1;
  int32_t rank = 0;
  for (const auto& merge : definition.merges) {
    const uint64_t key = PairKey(merge.left, merge.right);
    uint64_t at = Spread(key) & rule_mask_;
    while (rules_[at].pair != kNoPair && rules_[at].pair != key) at = (at + 1) & rule_mask_;
    rules_[at] = {key, rank++, merge.result};  // a rule given twice counts at its last place, as in the reference
  }
}

const BytePairEncoder::Rule* BytePairEncoder::FindRule(int32_t left, int32_t right) const {
  const uint64_t key = PairKey(left, right);
  for (uint64_t at = Spread(key) & rule_mask_; rules_[at].pair != kNoPair; at = (at + 1) & rule_mask_) {
    if (rules_[at].pair == key) return &rules_[at];
  }
  return nullptr;
}

void BytePairEncoder::Propose(Scratch& scratch, int32_t position) const {
  if (position < 0) return;
  const auto& symbol = scratch.symbols[position];
  if (symbol.next < 0) return;
  const int32_t right = scratch.symbols[symbol.next].id;
  const Rule* rule = FindRule(symbol.id, right);
  if (!rule) return;
  scratch.heap.push_back({rule->rank, position, symbol.id, right, rule->result});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), ComesAfter);
}

void BytePairEncoder::Encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
  HEARTH_CHECK(!piece.empty() && piece.size() < (1u << 31), "length of a piece");
  if (whole_pieces_) {
    const auto it = whole_.find(piece);
    if (it != whole_.end()) {
      ids.push_back(it->second);
      return;
    }
  }
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  const auto size = static_cast<int32_t>(piece.size());
  symbols.clear();
  heap.clear();
  for (int32_t i = 0; i < size; ++i) {
    symbols.push_back({byte_ids_[static_cast<unsigned char>(piece[i])], i - 1, i + 1 < size ? i + 1 : -1});
  }
  for (int32_t i = 0; i < size; ++i) Propose(scratch, i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), ComesAfter);
    const auto candidate = heap.back();
    heap.pop_back();
    auto& symbol = symbols[candidate.position];
    // A proposal is stale once either side was joined to something else. Joined-away symbols have id -1.
    if (symbol.id != candidate.left || symbol.next < 0 || symbols[symbol.next].id != candidate.right) continue;
    auto& absorbed = symbols[symbol.next];
    symbol.id = candidate.result;
    symbol.next = absorbed.next;
    absorbed.id = -1;
    if (symbol.next >= 0) symbols[symbol.next].previous = candidate.position;
    Propose(scratch, symbol.previous);
    Propose(scratch, candidate.position);
  }
  for (int32_t i = 0; i >= 0; i = symbols[i].next) ids.push_back(symbols[i].id);
}

}  // namespace hearth::text
