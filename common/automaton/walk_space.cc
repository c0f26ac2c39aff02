#include "common/automaton/walk_space.h"

#include <algorithm>
#include <tuple>

namespace hearth {
namespace {

using Kind = Automaton::Edge::Kind;

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

uint64_t Pack(int32_t high, int32_t low) {
  return uint64_t{static_cast<uint32_t>(high)} << 32 | static_cast<uint32_t>(low);
}

}  // namespace

WalkSpace::WalkSpace(std::shared_ptr<const PreparedAutomaton> prepared)
    : prepared_(std::move(prepared)), nodes_(1), seen_(kSeenSize) {
  Intern({});
  Intern({.configurations = {}, .cut = true});
}

int32_t WalkSpace::MakeStart() {
  Begin(false);
  Add(prepared_->automaton.rules.front().start, 0);
  return start_ = Finish();
}

int32_t WalkSpace::Push(int32_t state, int32_t below) {
  const auto [entry, fresh] = node_numbers_.try_emplace(Pack(below, state), static_cast<int32_t>(nodes_.size()));
  if (fresh) {
    const Node& under = NodeAt(below);
    const Node node{.state = state,
                    .below = below,
                    .depth = under.depth + 1,
                    .hash = Mix(under.hash * 31 + static_cast<uint32_t>(state) + 1)};
    nodes_.push_back(node);
  }
  return entry->second;
}

void WalkSpace::Begin(bool cut) {
  reached_.clear();
  ++round_;
  visits_ = 0;
  made_ = {};
  made_.cut = cut;
}

void WalkSpace::Add(int32_t state, int32_t stack) {
  if (!prepared_->facts[static_cast<size_t>(state)].productive) return;
  const uint64_t key = Pack(state, stack);
  size_t place = Mix(key) % kSeenSize;
  while (seen_[place].round == round_) {
    if (seen_[place].key == key) return;
    place = (place + 1) % kSeenSize;
  }
  if (reached_.size() == kMaxClosure) {
    made_.cut = true;
    return;
  }
  seen_[place] = {key, round_};
  reached_.push_back({state, stack});
}

// Everything that a configuration leads to without reading.
void WalkSpace::Follow(Configuration at) {
  const Automaton::State& state = StateAt(at.state);
  const auto silent = std::span(state.edges).subspan(prepared_->facts[static_cast<size_t>(at.state)].cost);
  // The configuration itself counts as well.
  if (silent.size() + 1 > kMaxVisits - visits_) {
    made_.cut = true;
    return;
  }
  visits_ += static_cast<uint32_t>(silent.size()) + 1;
  if (state.end) {
    if (at.stack == 0) {
      made_.can_end = true;
    } else {
      const Node node = NodeAt(at.stack);
      Add(node.state, node.below);
    }
  }
  for (const Automaton::Edge& edge : silent) {
    if (edge.kind == Kind::kEmpty) Add(edge.target, at.stack);
    if (edge.kind != Kind::kCall) continue;
    const auto& target = prepared_->facts[static_cast<size_t>(edge.target)];
    const int32_t start = prepared_->automaton.rules[static_cast<size_t>(edge.value)].start;
    if (!target.productive || !prepared_->facts[static_cast<size_t>(start)].productive) continue;
    // A call that has nothing left to do behind it needs no entry: right recursion takes no room.
    if (target.returns_only) {
      Add(start, at.stack);
    } else if (NodeAt(at.stack).depth == kMaxDepth) {
      made_.cut = true;
    } else {
      Add(start, Push(edge.target, at.stack));
    }
  }
}

int32_t WalkSpace::Finish() {
  for (size_t i = 0; i < reached_.size(); ++i) {
    const Configuration at = reached_[i];
    Follow(at);
    const auto& facts = prepared_->facts[static_cast<size_t>(at.state)];
    if (!facts.reads) continue;
    if (made_.configurations.size() == kMaxConfigurations) {
      made_.cut = true;
      continue;
    }
    made_.configurations.push_back(at);
    made_.reads_tokens |= facts.reads_tokens;
    made_.cost += facts.cost;
  }
  // Numbers of stacks tell when they were first met; the order must not.
  std::sort(made_.configurations.begin(), made_.configurations.end(),
            [&](const Configuration& a, const Configuration& b) {
              const Node &x = NodeAt(a.stack), &y = NodeAt(b.stack);
              return std::tie(a.state, x.depth, x.hash) < std::tie(b.state, y.depth, y.hash);
            });
  return Intern(std::move(made_));
}

int32_t WalkSpace::Intern(Set set) {
  uint64_t hash = (set.can_end ? 1u : 0u) + (set.cut ? 2u : 0u);
  for (const Configuration& c : set.configurations) hash = Mix(hash ^ Mix(Pack(c.state, c.stack)));
  const auto [begin, end] = set_numbers_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Set& other = At(it->second);
    if (other.can_end == set.can_end && other.cut == set.cut && other.configurations == set.configurations) {
      return it->second;
    }
  }
  const auto number = static_cast<int32_t>(sets_.size());
  sets_.push_back(std::move(set));
  next_.emplace_back();
  set_numbers_.emplace(hash, number);
  return number;
}

int32_t WalkSpace::Step(int32_t set, uint8_t byte) {
  // All bytes around this one that every edge treats alike share the step.
  int low = 0, high = 255;
  Begin(At(set).cut);
  for (const Configuration& c : At(set).configurations) {
    for (const Automaton::Edge& edge : ReadingEdges(c.state)) {
      if (edge.kind != Kind::kBytes) continue;
      if (byte < edge.low) {
        high = std::min(high, edge.low - 1);
      } else if (byte > edge.high) {
        low = std::max(low, edge.high + 1);
      } else {
        low = std::max<int>(low, edge.low);
        high = std::min<int>(high, edge.high);
        Add(edge.target, c.stack);
      }
    }
  }
  const int32_t to = Finish();
  auto& row = next_[static_cast<size_t>(set)];
  std::fill(row.begin() + low, row.begin() + high + 1, Link{.to = to, .visits = visits_});
  return to;
}

int32_t WalkSpace::NextToken(int32_t set, int32_t token) {
  const std::vector<int32_t>& except = prepared_->automaton.except;
  Begin(At(set).cut);
  for (const Configuration& c : At(set).configurations) {
    for (const Automaton::Edge& edge : ReadingEdges(c.state)) {
      const bool any = edge.kind == Kind::kAnyToken && !std::binary_search(except.begin(), except.end(), token);
      if (any || (edge.kind == Kind::kToken && edge.value == token)) Add(edge.target, c.stack);
    }
  }
  return Finish();
}

int32_t WalkSpace::Import(const WalkSpace& other, int32_t set) {
  Set copy = other.At(set);
  std::vector<int32_t> states;
  for (Configuration& c : copy.configurations) {
    states.clear();
    for (int32_t node = c.stack; node != 0; node = other.NodeAt(node).below) states.push_back(other.NodeAt(node).state);
    c.stack = 0;
    for (size_t i = states.size(); i-- > 0;) c.stack = Push(states[i], c.stack);
  }
  return Intern(std::move(copy));
}

std::string WalkSpace::Key(int32_t set) const {
  const Set& from = At(set);
  std::string key(1, static_cast<char>((from.can_end ? 1 : 0) + (from.cut ? 2 : 0)));
  const auto put = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) key.push_back(static_cast<char>(value >> shift));
  };
  for (const Configuration& c : from.configurations) {
    put(static_cast<uint32_t>(c.state));
    put(NodeAt(c.stack).depth);
    for (int32_t node = c.stack; node != 0; node = NodeAt(node).below) put(static_cast<uint32_t>(NodeAt(node).state));
  }
  return key;
}

bool WalkSpace::TokensRead(int32_t set, std::vector<int32_t>& named) const {
  bool any = false;
  named.clear();
  for (const Configuration& c : At(set).configurations) {
    for (const Automaton::Edge& edge : ReadingEdges(c.state)) {
      any |= edge.kind == Kind::kAnyToken;
      if (edge.kind == Kind::kToken) named.push_back(edge.value);
    }
  }
  return any;
}

}  // namespace hearth
