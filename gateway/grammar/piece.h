#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/grammar/code_points.h"

namespace hearth::grammar {

struct Piece;
using PieceRef = std::shared_ptr<const Piece>;

// A small regular expression over bytes, added tokens and rules: what parsers and compilers put together before it is
// written into an automaton. Immutable, shared freely.
struct Piece {
  enum class Kind { kText, kBytes, kToken, kRule, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kText;
  std::string text;             // kText: exactly these bytes
  uint8_t low = 0, high = 0;    // kBytes: one byte of the range
  int32_t value = 0;            // kToken: id of an added token; kRule: number of a rule
  std::vector<PieceRef> parts;  // kSequence, kChoice (none: matches nothing); kRepeat: one
  size_t least = 0;             // kRepeat
  std::optional<size_t> most;   // kRepeat; absent: without end
};

PieceRef Text(std::string text);
PieceRef Bytes(uint8_t low, uint8_t high);
PieceRef Token(int32_t id);
PieceRef Rule(int32_t rule);
PieceRef Sequence(std::vector<PieceRef> parts);
PieceRef Choice(std::vector<PieceRef> parts);
PieceRef Repeat(PieceRef part, size_t least, std::optional<size_t> most);
PieceRef Optional(PieceRef part);
// One character of the set, as UTF-8.
PieceRef Characters(const CodePointSet& set);

}  // namespace hearth::grammar
