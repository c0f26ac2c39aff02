#pragma once

#include <string_view>
#include <vector>

#include "common/automaton/automaton.h"

namespace hearth {

// Automata built by hand, for tests and benchmarks.

// A rule with a start of its own; returns its number.
inline int32_t AddRule(Automaton& automaton, int32_t start) {
  automaton.rules.push_back({.start = start, .name = {}});
  return static_cast<int32_t>(automaton.rules.size() - 1);
}

// A language of one rule that starts at state 0.
inline Automaton OneRule(bool start_ends = false) {
  Automaton automaton;
  automaton.AddState(start_ends);
  AddRule(automaton, 0);
  return automaton;
}

// One of the texts.
inline Automaton Choice(const std::vector<std::string_view>& texts) {
  Automaton automaton = OneRule();
  const int32_t end = automaton.AddState(true);
  for (std::string_view text : texts) automaton.AddText(0, text, end);
  return automaton;
}

// Characters of a JSON string, in UTF-8, from `at` back to `at`: none of the controls, quote and backslash escaped.
inline void AddStringCharacters(Automaton& automaton, int32_t at) {
  automaton.AddBytes(at, 0x20, 0x21, at);
  automaton.AddBytes(at, 0x23, 0x5B, at);
  automaton.AddBytes(at, 0x5D, 0x7F, at);
  const int32_t escape = automaton.AddState();
  automaton.AddBytes(at, '\\', '\\', escape);
  for (char c : std::string_view("\"\\/bfnrt")) {
    automaton.AddBytes(escape, static_cast<uint8_t>(c), static_cast<uint8_t>(c), at);
  }
  int32_t hex = at;
  for (int i = 0; i < 4; ++i) {
    const int32_t before = automaton.AddState();
    automaton.AddBytes(before, '0', '9', hex);
    automaton.AddBytes(before, 'a', 'f', hex);
    automaton.AddBytes(before, 'A', 'F', hex);
    hex = before;
  }
  automaton.AddBytes(escape, 'u', 'u', hex);
  const int32_t one = automaton.AddState(), two = automaton.AddState(), three = automaton.AddState();
  automaton.AddBytes(one, 0x80, 0xBF, at);
  automaton.AddBytes(two, 0x80, 0xBF, one);
  automaton.AddBytes(three, 0x80, 0xBF, two);
  automaton.AddBytes(at, 0xC2, 0xDF, one);
  const auto narrow = [&](uint8_t lead, uint8_t low, uint8_t high, int32_t next) {
    const int32_t first = automaton.AddState();
    automaton.AddBytes(at, lead, lead, first);
    automaton.AddBytes(first, low, high, next);
  };
  narrow(0xE0, 0xA0, 0xBF, one);
  automaton.AddBytes(at, 0xE1, 0xEC, two);
  narrow(0xED, 0x80, 0x9F, one);
  automaton.AddBytes(at, 0xEE, 0xEF, two);
  narrow(0xF0, 0x90, 0xBF, two);
  automaton.AddBytes(at, 0xF1, 0xF3, three);
  narrow(0xF4, 0x80, 0x8F, two);
}

// Nested JSON without blanks: values are strings, digits, arrays and objects.
inline Automaton JsonValue() {
  Automaton a;
  const int32_t value = a.AddState(), done = a.AddState(true);
  AddRule(a, value);
  const int32_t string_start = a.AddState(), inside = a.AddState();
  const int32_t string = AddRule(a, string_start);
  a.AddBytes(string_start, '"', '"', inside);
  AddStringCharacters(a, inside);
  a.AddBytes(inside, '"', '"', a.AddState(true));
  a.AddCall(value, string, done);
  const int32_t digits = a.AddState(true);
  a.AddBytes(value, '0', '9', digits);
  a.AddBytes(digits, '0', '9', digits);
  const int32_t array = a.AddState(), more = a.AddState();
  a.AddBytes(value, '[', '[', array);
  a.AddBytes(array, ']', ']', done);
  a.AddCall(array, 0, more);
  const int32_t next = a.AddState();
  a.AddBytes(more, ',', ',', next);
  a.AddCall(next, 0, more);
  a.AddBytes(more, ']', ']', done);
  const int32_t object = a.AddState(), colon = a.AddState(), member = a.AddState(), after = a.AddState();
  a.AddBytes(value, '{', '{', object);
  a.AddBytes(object, '}', '}', done);
  a.AddCall(object, string, colon);
  a.AddBytes(colon, ':', ':', member);
  a.AddCall(member, 0, after);
  const int32_t name = a.AddState();
  a.AddBytes(after, ',', ',', name);
  a.AddCall(name, string, colon);
  a.AddBytes(after, '}', '}', done);
  return a;
}

}  // namespace hearth
