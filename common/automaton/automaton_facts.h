#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/automaton/automaton.h"

namespace hearth {

// What follows from an automaton whose indices are in range. Each call is linear in its edges.

// By state: whether the rule's end can be reached from here by reading something or nothing.
std::vector<bool> ProductiveStates(const Automaton& automaton);

// By state: whether the rule's end can be reached from here without reading anything.
std::vector<bool> NullableStates(const Automaton& automaton);

// A state that a rule call can lead back to before anything is read.
std::optional<int32_t> LeftRecursion(const Automaton& automaton);

}  // namespace hearth
