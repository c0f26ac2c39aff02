#pragma once

#include <random>
#include <set>
#include <string>

#include "tests/common/automaton/sample_automata.h"

namespace hearth {

// A small automaton over the bytes a..c and the added tokens 100 and 101, of up to three rules, that passes Check().
inline Automaton RandomAutomaton(std::mt19937_64& random) {
  for (;;) {
    Automaton automaton;
    const auto below = [&](size_t n) { return static_cast<int32_t>(random() % n); };
    const size_t rules = 1 + random() % 3;
    std::vector<std::vector<int32_t>> states(rules);
    for (size_t r = 0; r < rules; ++r) {
      for (size_t n = 2 + random() % 4; n > 0; --n) states[r].push_back(automaton.AddState(random() % 4 == 0));
      AddRule(automaton, states[r][0]);
    }
    for (size_t r = 0; r < rules; ++r) {
      const auto state = [&] { return states[r][random() % states[r].size()]; };
      for (size_t n = 3 + random() % 6; n > 0; --n) {
        const int32_t from = state(), to = state();
        const auto low = static_cast<uint8_t>('a' + below(3));
        const auto high = static_cast<uint8_t>(low + below(static_cast<size_t>('c' - low) + 1));
        switch (random() % 8) {
          case 0:
            automaton.AddEmpty(from, to);
            break;
          case 1:
          case 2:
            automaton.AddCall(from, below(rules), to);
            break;
          case 3:
            automaton.AddToken(from, 100 + below(2), to);
            break;
          case 4:
            if (random() % 3 == 0) automaton.AddAnyToken(from, to);
            break;
          default:
            automaton.AddBytes(from, low, high, to);
        }
      }
    }
    if (random() % 2 == 0) automaton.except = {101};
    if (automaton.Check().ok()) return automaton;
  }
}

// A text with added tokens in it, one char32_t each.
using Symbols = std::u32string;
constexpr char32_t kFirstToken = 100 << 8;
inline bool IsToken(char32_t symbol) { return symbol >= kFirstToken; }
inline int32_t TokenOf(char32_t symbol) { return static_cast<int32_t>(symbol >> 8); }
inline char32_t SymbolOf(int32_t token) { return static_cast<char32_t>(token) << 8; }

// The texts of at most `longest` symbols, found without a walker: which texts lead from each state to its rule's end,
// as the least solution of the automaton's equations, by repeated substitution.
inline std::set<Symbols> Language(const Automaton& automaton, size_t longest) {
  using Kind = Automaton::Edge::Kind;
  std::vector<std::set<Symbols>> texts(automaton.states.size());
  const auto any = [&](int32_t token) {
    return std::find(automaton.except.begin(), automaton.except.end(), token) == automaton.except.end();
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t s = 0; s < texts.size(); ++s) {
      std::set<Symbols> all;
      const auto add = [&](const Symbols& head, const std::set<Symbols>& tails) {
        for (const Symbols& tail : tails) {
          if (head.size() + tail.size() <= longest) all.insert(head + tail);
        }
      };
      if (automaton.states[s].end) all.insert(Symbols());
      for (const Automaton::Edge& edge : automaton.states[s].edges) {
        const std::set<Symbols>& tails = texts[static_cast<size_t>(edge.target)];
        if (edge.kind == Kind::kEmpty) add({}, tails);
        if (edge.kind == Kind::kToken) add(Symbols(1, SymbolOf(edge.value)), tails);
        for (int32_t token : {100, 101}) {
          if (edge.kind == Kind::kAnyToken && any(token)) add(Symbols(1, SymbolOf(token)), tails);
        }
        for (int byte = edge.low; edge.kind == Kind::kBytes && byte <= edge.high; ++byte) {
          add(Symbols(1, static_cast<char32_t>(byte)), tails);
        }
        if (edge.kind == Kind::kCall) {
          const int32_t start = automaton.rules[static_cast<size_t>(edge.value)].start;
          for (const Symbols& head : texts[static_cast<size_t>(start)]) add(head, tails);
        }
      }
      if (all.size() > texts[s].size()) {
        texts[s] = std::move(all);
        grown = true;
      }
    }
  }
  return texts[static_cast<size_t>(automaton.rules[0].start)];
}

}  // namespace hearth
