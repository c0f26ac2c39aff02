#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace hearth {

// A recursive automaton over bytes and added tokens: the language that a constrained generation must stay in. The
// gateway compiles it from a JSON schema, a regular expression or a tool list; the worker walks it and masks tokens.
//
// Rules are small nondeterministic automata that may call each other, so nesting needs no bound in the automaton
// itself. An ordinary token is read byte by byte; an added token (a tag such as <tool_call>) is one symbol of its own
// and never matches bytes. Generation may stop where rule 0 can end with an empty stack.
struct Automaton {
  static constexpr uint32_t kVersion = 1;
  // Bounds that Parse enforces; a larger automaton is refused.
  static constexpr size_t kMaxRules = 4096, kMaxStates = 65536, kMaxEdges = 262144;

  struct Edge {
    enum class Kind : uint8_t { kBytes, kToken, kAnyToken, kCall, kEmpty };
    Kind kind = Kind::kEmpty;
    uint8_t low = 0, high = 0;  // kBytes: inclusive range
    int32_t value = 0;          // kToken: id of an added token; kCall: rule
    int32_t target = 0;         // state of the same rule (kCall: where to go on after the return)
    // kAnyToken: every added token except stop tokens and those in `except` of the automaton.
    bool operator==(const Edge&) const = default;
  };
  struct State {
    std::vector<Edge> edges;
    bool end = false;  // the rule may end here
    bool operator==(const State&) const = default;
  };
  struct Rule {
    int32_t start = 0;  // index into states
    std::string name;   // for messages; Serialize keeps the first 255 bytes
    bool operator==(const Rule&) const = default;
  };

  std::vector<Rule> rules;  // 0 is the whole
  std::vector<State> states;
  std::vector<int32_t> except;  // added tokens that kAnyToken does not match

  int32_t AddState(bool end = false);
  void AddBytes(int32_t from, uint8_t low, uint8_t high, int32_t to);
  void AddToken(int32_t from, int32_t token, int32_t to);
  void AddAnyToken(int32_t from, int32_t to);
  void AddCall(int32_t from, int32_t rule, int32_t to);
  void AddEmpty(int32_t from, int32_t to);
  // A chain of single bytes; returns `to`.
  int32_t AddText(int32_t from, std::string_view text, int32_t to);

  // Whether it can be walked: bounds, every index, no rule that calls itself before reading anything (right recursion
  // is fine), and a language that is not empty.
  Status Check() const;

  std::string Serialize() const;
  // Untrusted bytes: checks their form, and Check().
  static Result<Automaton> Parse(std::string_view bytes);

  bool operator==(const Automaton&) const = default;
};

}  // namespace hearth
