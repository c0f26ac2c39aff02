#include "gpu_worker/constraint/token_masker.h"

#include <algorithm>

namespace hearth {
namespace {

Status TooMuch() {
  return InvalidArgument("the constraint is too ambiguous: a token mask would take more than ", TokenMasker::kMaxWork,
                         " steps")
      .WithParam("constraint");
}

}  // namespace

bool ConstraintVocabulary::IsAdded(int32_t id) const {
  return std::binary_search(bytes.added.begin(), bytes.added.end(), id);
}

TokenMasker::TokenMasker(std::shared_ptr<const ConstraintVocabulary> vocabulary)
    : vocabulary_(std::move(vocabulary)), path_(vocabulary_->trie.max_depth() + 1) {}

Status TokenMasker::Fill(const AutomatonWalker& walker, TokenMask& mask) {
  mask.bits.assign((vocabulary_->size() + 63) / 64, 0);
  mask.cut = walker.cut();
  if (Status status = FillOrdinary(walker, mask); !status.ok()) return status;
  if (Status status = FillAdded(walker, mask); !status.ok()) return status;
  mask.empty = std::all_of(mask.bits.begin(), mask.bits.end(), [](uint64_t word) { return word == 0; });
  return Status::Ok();
}

Status TokenMasker::FillOrdinary(const AutomatonWalker& walker, TokenMask& mask) {
  std::shared_ptr<WalkSpace> space = walker.space();
  const std::vector<TokenTrie::Node>& nodes = vocabulary_->trie.nodes();
  path_[0] = {walker.set(), space->cost(walker.set())};
  Place* const path = path_.data();
  uint64_t* const bits = mask.bits.data();
  uint64_t work = 0;
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const Place from = path[node.depth];
    work += from.cost + 1;
    WalkSpace::Link link = space->Known(from.set, node.byte);
    if (link.to < 0) {
      // Only here a step takes more than a look-up.
      if (work > kMaxWork) return TooMuch();
      if (space->full()) space = MovePath(*space, node.depth);
      const int32_t set = path[node.depth].set;
      space->Next(set, node.byte);
      link = space->Known(set, node.byte);
    }
    work += link.visits;
    const int32_t to = link.to;
    if (WalkSpace::Dead(to)) {
      mask.cut |= to == WalkSpace::kDeadByCut;
      i = node.end;
      continue;
    }
    if (node.token >= 0) bits[node.token / 64] |= uint64_t{1} << (node.token % 64);
    ++i;
    if (node.end > i) path[node.depth + 1] = {to, space->cost(to)};
  }
  // What was known before must not decide.
  return work > kMaxWork ? TooMuch() : Status::Ok();
}

// The sets of the path up to `depth` go to a fresh space; others can be found again.
std::shared_ptr<WalkSpace> TokenMasker::MovePath(const WalkSpace& from, size_t depth) {
  auto fresh = std::make_shared<WalkSpace>(from.prepared());
  for (size_t i = 0; i <= depth; ++i) path_[i].set = fresh->Import(from, path_[i].set);
  return fresh;
}

Status TokenMasker::FillAdded(const AutomatonWalker& walker, TokenMask& mask) {
  if (!walker.space()->reads_tokens(walker.set())) return Status::Ok();
  const bool any = walker.space()->TokensRead(walker.set(), named_);
  std::vector<int32_t>& tokens = named_;
  if (any) tokens = vocabulary_->bytes.added;
  // Many edges may name one token.
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  std::erase_if(tokens, [&](int32_t token) { return !vocabulary_->IsAdded(token); });
  if (tokens.size() * uint64_t{walker.space()->cost(walker.set())} > kMaxWork) return TooMuch();
  AutomatonWalker here = walker;
  if (here.space()->full()) here.MoveTo(std::make_shared<WalkSpace>(here.space()->prepared()));
  for (int32_t token : tokens) {
    AutomatonWalker next = here;
    next.AdvanceToken(token);
    mask.cut |= next.cut();
    if (!next.empty()) mask.Set(token);
  }
  return Status::Ok();
}

}  // namespace hearth
