#include "gateway/grammar/piece.h"

#include <utility>

namespace hearth::grammar {
namespace {

PieceRef Make(Piece piece) { return std::make_shared<const Piece>(std::move(piece)); }

}  // namespace

PieceRef Text(std::string text) { return Make({.kind = Piece::Kind::kText, .text = std::move(text)}); }
PieceRef Bytes(uint8_t low, uint8_t high) { return Make({.kind = Piece::Kind::kBytes, .low = low, .high = high}); }
PieceRef Token(int32_t id) { return Make({.kind = Piece::Kind::kToken, .value = id}); }
PieceRef Rule(int32_t rule) { return Make({.kind = Piece::Kind::kRule, .value = rule}); }

PieceRef Sequence(std::vector<PieceRef> parts) {
  if (parts.size() == 1) return parts.front();
  return Make({.kind = Piece::Kind::kSequence, .parts = std::move(parts)});
}

PieceRef Choice(std::vector<PieceRef> parts) {
  if (parts.size() == 1) return parts.front();
  return Make({.kind = Piece::Kind::kChoice, .parts = std::move(parts)});
}

PieceRef Repeat(PieceRef part, size_t least, std::optional<size_t> most) {
  if (least == 1 && most == size_t{1}) return part;
  return Make({.kind = Piece::Kind::kRepeat, .parts = {std::move(part)}, .least = least, .most = most});
}

PieceRef Optional(PieceRef part) { return Repeat(std::move(part), 0, 1); }

PieceRef Characters(const CodePointSet& set) {
  std::vector<PieceRef> blocks;
  for (const Utf8Block& block : Utf8Blocks(set)) {
    std::vector<PieceRef> bytes;
    for (const Utf8Block::Bytes& range : block.bytes) bytes.push_back(Bytes(range.low, range.high));
    blocks.push_back(Sequence(std::move(bytes)));
  }
  return Choice(std::move(blocks));
}

}  // namespace hearth::grammar
