#include "common/automaton/prepared_automaton.h"

#include <algorithm>

#include "common/automaton/automaton_facts.h"

namespace hearth {

PreparedAutomaton::PreparedAutomaton(Automaton checked) : automaton(std::move(checked)) {
  using Kind = Automaton::Edge::Kind;
  std::sort(automaton.except.begin(), automaton.except.end());
  const std::vector<bool> productive = ProductiveStates(automaton);
  facts.resize(automaton.states.size());
  for (size_t i = 0; i < facts.size(); ++i) {
    const Automaton::State& state = automaton.states[i];
    StateFacts& fact = facts[i];
    fact.productive = productive[i];
    fact.returns_only = state.end && state.edges.empty();
    fact.cost = static_cast<uint32_t>(state.edges.size());
    for (const Automaton::Edge& edge : state.edges) {
      const bool token = edge.kind == Kind::kToken || edge.kind == Kind::kAnyToken;
      fact.reads |= token || edge.kind == Kind::kBytes;
      fact.reads_tokens |= token;
    }
  }
}

}  // namespace hearth
