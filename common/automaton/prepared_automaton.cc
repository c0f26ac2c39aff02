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
    Automaton::State& state = automaton.states[i];
    StateFacts& fact = facts[i];
    fact.productive = productive[i];
    fact.returns_only = state.end && state.edges.empty();
    const auto reads = [](const Automaton::Edge& edge) {
      return edge.kind != Kind::kEmpty && edge.kind != Kind::kCall;
    };
    const auto middle = std::stable_partition(state.edges.begin(), state.edges.end(), reads);
    fact.cost = static_cast<uint32_t>(middle - state.edges.begin());
    fact.reads = fact.cost > 0;
    fact.reads_tokens = std::any_of(state.edges.begin(), middle, [](const Automaton::Edge& edge) {
      return edge.kind != Kind::kBytes;
    });
  }
}

}  // namespace hearth
