#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/automaton/automaton.h"
#include "common/base/result.h"
#include "gateway/grammar/piece.h"

namespace hearth::grammar {

// Writes rules into an automaton. Rule 0 exists from the start and is defined last. Growing past the automaton's bounds
// stops the writing; Finish() then refuses.
class Builder {
 public:
  Builder();

  // A rule to be defined later, so that it can be called before.
  int32_t Reserve(std::string name);
  void Define(int32_t rule, const PieceRef& piece);
  int32_t Add(std::string name, const PieceRef& piece);
  // One character of the set as a piece; larger sets become rules, so that repeating them costs little.
  PieceRef Class(const CodePointSet& set);

  // The parts of a graph, for what is no regular expression.
  int32_t Start(int32_t rule);
  int32_t State(bool end = false);
  void Emit(const PieceRef& piece, int32_t from, int32_t to);
  void Empty(int32_t from, int32_t to) { Emit(nothing_, from, to); }
  // Each text leads from `from` to a state of its own. Common beginnings are read once, so that a reader stands in one
  // place however many texts go on from there.
  struct Word {
    std::string text;
    int32_t to;
    auto operator<=>(const Word&) const = default;
  };
  void EmitWords(std::vector<Word> words, int32_t from);
  Automaton& automaton() { return automaton_; }
  // A whole automaton as one rule. It has no kAnyToken edges: exceptions are this automaton's own.
  PieceRef Include(const Automaton& other);

  // Whether writing has stopped.
  bool full() const { return full_; }
  // The checked automaton in its wire form. kInvalidArgument: too large, admits no text, or comes back to itself before
  // anything is read.
  Result<std::string> Finish();

 private:
  bool Room();

  Automaton automaton_;
  std::map<CodePointSet, PieceRef> classes_;
  const PieceRef nothing_ = Text("");
  size_t edges_ = 0;
  bool full_ = false;
};

}  // namespace hearth::grammar
