#pragma once

#include <vector>

#include "common/automaton/automaton.h"

namespace hearth {

// An automaton that passed Check(), with what walking it looks up. Immutable.
struct PreparedAutomaton {
  explicit PreparedAutomaton(Automaton checked);

  struct StateFacts {
    bool productive = false;    // the rule's end can be reached
    bool returns_only = false;  // the rule ends here and nothing else can happen
    bool reads = false;         // has an edge that reads something
    bool reads_tokens = false;
    uint32_t cost = 0;  // edges to look at in a step: those that read something
  };
  Automaton automaton;  // `except` is sorted; of a state's edges those that read something come first
  std::vector<StateFacts> facts;
};

}  // namespace hearth
