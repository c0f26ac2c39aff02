#include "gpu_worker/constraint/token_masker.h"

#include <algorithm>

namespace hearth {

bool ConstraintVocabulary::IsAdded(int32_t id) const {
  return std::binary_search(bytes.added.begin(), bytes.added.end(), id);
}

TokenMasker::TokenMasker(std::shared_ptr<const ConstraintVocabulary> vocabulary)
    : vocabulary_(std::move(vocabulary)), path_(vocabulary_->trie.max_depth() + 1) {}

Status TokenMasker::Fill(const AutomatonWalker& walker, TokenMask& mask) {
  mask.bits.assign((vocabulary_->size() + 63) / 64, 0);
  mask.cut = walker.cut();
  if (Status status = FillOrdinary(walker, mask); !status.ok()) return status;
  FillAdded(walker, mask);
  mask.empty = std::all_of(mask.bits.begin(), mask.bits.end(), [](uint64_t word) { return word == 0; });
  return Status::Ok();
}

Status TokenMasker::FillOrdinary(const AutomatonWalker& walker, TokenMask& mask) {
  std::shared_ptr<WalkSpace> shared = walker.space();
  WalkSpace* space = shared.get();
  const std::vector<TokenTrie::Node>& nodes = vocabulary_->trie.nodes();
  path_[0] = {walker.set(), space->cost(walker.set())};
  uint64_t work = 0;
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const Place from = path_[node.depth];
    work += from.cost + 1;
    if (work > kMaxWork) {
      return FailedPrecondition("the constraint is too ambiguous: a token mask would take more than ", kMaxWork,
                                " steps");
    }
    if (space->full() && !space->Knows(from.set, node.byte)) {
      // The sets of the path move to a fresh space; the others can be found again.
      auto fresh = std::make_shared<WalkSpace>(space->prepared());
      for (size_t depth = 0; depth <= node.depth; ++depth) {
        path_[depth].set = fresh->Import(*space, path_[depth].set);
      }
      shared = std::move(fresh);
      space = shared.get();
    }
    const int32_t to = space->Next(path_[node.depth].set, node.byte);
    if (WalkSpace::Dead(to)) {
      mask.cut |= to == WalkSpace::kDeadByCut;
      i = node.end;
      continue;
    }
    path_[node.depth + size_t{1}] = {to, space->cost(to)};
    if (node.token >= 0) mask.Set(node.token);
    ++i;
  }
  return Status::Ok();
}

void TokenMasker::FillAdded(const AutomatonWalker& walker, TokenMask& mask) {
  if (!walker.space()->reads_tokens(walker.set())) return;
  const bool any = walker.space()->TokensRead(walker.set(), named_);
  std::vector<int32_t>& tokens = named_;
  if (any) tokens = vocabulary_->bytes.added;
  AutomatonWalker here = walker;
  if (here.space()->full()) here.MoveTo(std::make_shared<WalkSpace>(here.space()->prepared()));
  for (int32_t token : tokens) {
    if (!vocabulary_->IsAdded(token)) continue;
    AutomatonWalker next = here;
    next.AdvanceToken(token);
    mask.cut |= next.cut();
    if (!next.empty()) mask.Set(token);
  }
}

}  // namespace hearth
