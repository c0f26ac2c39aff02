#include "common/automaton/automaton.h"

#include "common/base/check.h"

namespace hearth {
namespace {

void Add(Automaton& automaton, int32_t from, Automaton::Edge edge) {
  HEARTH_CHECK(from >= 0 && static_cast<size_t>(from) < automaton.states.size(),
               "an edge from a state that is not there");
  automaton.states[static_cast<size_t>(from)].edges.push_back(edge);
}

}  // namespace

int32_t Automaton::AddState(bool end) {
  states.push_back({.edges = {}, .end = end});
  return static_cast<int32_t>(states.size() - 1);
}

void Automaton::AddBytes(int32_t from, uint8_t low, uint8_t high, int32_t to) {
  Add(*this, from, {.kind = Edge::Kind::kBytes, .low = low, .high = high, .target = to});
}

void Automaton::AddToken(int32_t from, int32_t token, int32_t to) {
  Add(*this, from, {.kind = Edge::Kind::kToken, .value = token, .target = to});
}

void Automaton::AddAnyToken(int32_t from, int32_t to) {
  Add(*this, from, {.kind = Edge::Kind::kAnyToken, .target = to});
}

void Automaton::AddCall(int32_t from, int32_t rule, int32_t to) {
  Add(*this, from, {.kind = Edge::Kind::kCall, .value = rule, .target = to});
}

void Automaton::AddEmpty(int32_t from, int32_t to) { Add(*this, from, {.kind = Edge::Kind::kEmpty, .target = to}); }

int32_t Automaton::AddText(int32_t from, std::string_view text, int32_t to) {
  if (text.empty()) {
    AddEmpty(from, to);
    return to;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const int32_t next = i + 1 == text.size() ? to : AddState();
    const auto byte = static_cast<uint8_t>(text[i]);
    AddBytes(from, byte, byte, next);
    from = next;
  }
  return to;
}

}  // namespace hearth
