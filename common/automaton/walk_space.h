#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/automaton/prepared_automaton.h"

namespace hearth {

// The sets of configurations that walks over one automaton have met, each once and under a number, with the steps
// between them as they become known: a deterministic automaton that grows where it is used. Not thread-safe.
//
// A configuration is a state and the stack of states to return to. At most kMaxConfigurations of a set are kept, and
// none with a deeper stack than kMaxDepth; a set that lost some, or follows from one that did, is `cut`. So is one that
// takes more than kMaxVisits edges to close. Which ones are kept depends on the automaton and the text alone.
class WalkSpace {
 public:
  static constexpr size_t kMaxConfigurations = 256;
  static constexpr uint32_t kMaxDepth = 128;
  // Sets without a configuration that cannot end: the text has left the language, or everything was dropped.
  static constexpr int32_t kDead = 0, kDeadByCut = 1;

  explicit WalkSpace(std::shared_ptr<const PreparedAutomaton> prepared);

  struct Link {
    int32_t to = -1;      // -1: not known yet
    uint32_t visits = 0;  // edges that were followed without reading to find it
  };

  int32_t start() { return start_ >= 0 ? start_ : MakeStart(); }
  int32_t Next(int32_t set, uint8_t byte) {
    const int32_t known = Known(set, byte).to;
    return known >= 0 ? known : Step(set, byte);
  }
  // Next, if it is a look-up.
  Link Known(int32_t set, uint8_t byte) const { return next_[static_cast<size_t>(set)][byte]; }
  int32_t NextToken(int32_t set, int32_t added_token);
  // The number here of a set of another space over the same automaton.
  int32_t Import(const WalkSpace& other, int32_t set);

  static bool Dead(int32_t set) { return set <= kDeadByCut; }
  bool can_end(int32_t set) const { return At(set).can_end; }
  bool cut(int32_t set) const { return At(set).cut; }
  bool reads_tokens(int32_t set) const { return At(set).reads_tokens; }
  // Edges that a step from the set looks at, without those that it goes on to follow.
  uint32_t cost(int32_t set) const { return At(set).cost; }
  // Equal for equal sets, whatever the space.
  std::string Key(int32_t set) const;
  // The added tokens that some configuration reads by name, and whether one reads any.
  bool TokensRead(int32_t set, std::vector<int32_t>& named) const;

  // Grown so far that its users should move to a fresh one.
  bool full() const { return sets_.size() >= kMaxSets || nodes_.size() >= kMaxNodes; }
  const std::shared_ptr<const PreparedAutomaton>& prepared() const { return prepared_; }

 private:
  static constexpr size_t kMaxSets = 2048, kMaxNodes = 65536;
  // Configurations that one step may pass through, with those that read nothing; half the table that finds repeats.
  static constexpr size_t kMaxClosure = 4096, kSeenSize = 2 * kMaxClosure;
  // Edges that one step may follow without reading, as many as an automaton can have: configurations that differ in
  // their stacks alone follow the same ones again.
  static constexpr uint32_t kMaxVisits = Automaton::kMaxEdges;

  // One entry of a stack; stacks share their lower parts. Node 0 is the empty stack.
  struct Node {
    int32_t state = 0, below = 0;
    uint32_t depth = 0;
    uint64_t hash = 0;
  };
  struct Configuration {
    int32_t state = 0, stack = 0;
    bool operator==(const Configuration&) const = default;
  };
  struct Set {
    std::vector<Configuration> configurations;  // those that read something, in an order that no history can change
    bool can_end = false, cut = false, reads_tokens = false;
    uint32_t cost = 0;
  };
  struct Seen {
    uint64_t key = 0;
    uint64_t round = 0;
  };

  const Set& At(int32_t set) const { return sets_[static_cast<size_t>(set)]; }
  const Node& NodeAt(int32_t node) const { return nodes_[static_cast<size_t>(node)]; }
  const Automaton::State& StateAt(int32_t state) const {
    return prepared_->automaton.states[static_cast<size_t>(state)];
  }
  std::span<const Automaton::Edge> ReadingEdges(int32_t state) const {
    return std::span(StateAt(state).edges).first(prepared_->facts[static_cast<size_t>(state)].cost);
  }
  int32_t MakeStart();
  int32_t Step(int32_t set, uint8_t byte);
  int32_t Push(int32_t state, int32_t below);
  void Begin(bool cut);
  void Add(int32_t state, int32_t stack);
  void Follow(Configuration at);
  int32_t Finish();
  int32_t Intern(Set set);

  const std::shared_ptr<const PreparedAutomaton> prepared_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, int32_t> node_numbers_;
  std::vector<Set> sets_;
  std::vector<std::array<Link, 256>> next_;
  std::unordered_multimap<uint64_t, int32_t> set_numbers_;
  int32_t start_ = -1;  // a space that only takes over another's sets never needs it

  // The set in the making.
  std::vector<Configuration> reached_;
  std::vector<Seen> seen_;
  uint64_t round_ = 0;
  uint32_t visits_ = 0;
  Set made_;
};

}  // namespace hearth
