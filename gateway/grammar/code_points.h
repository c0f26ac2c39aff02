#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::grammar {

// A set of Unicode scalar values (no surrogates), kept as ascending ranges that do not touch.
class CodePointSet {
 public:
  struct Range {
    uint32_t low, high;  // inclusive
    bool operator==(const Range&) const = default;
    auto operator<=>(const Range&) const = default;
  };

  CodePointSet() = default;
  explicit CodePointSet(std::initializer_list<Range> ranges) {
    for (const Range& range : ranges) Add(range.low, range.high);
  }
  static CodePointSet All() { return CodePointSet({{0, 0x10FFFF}}); }

  // Surrogates in between are left out.
  void Add(uint32_t low, uint32_t high);
  void Add(const CodePointSet& other);
  CodePointSet Complement() const;
  CodePointSet Without(const CodePointSet& other) const;
  CodePointSet And(const CodePointSet& other) const;

  bool empty() const { return ranges_.empty(); }
  bool Contains(uint32_t code_point) const;
  std::span<const Range> ranges() const { return ranges_; }
  auto operator<=>(const CodePointSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

// Byte strings of one length: byte i lies in bytes[i], and every combination is the UTF-8 text of a member.
struct Utf8Block {
  struct Bytes {
    uint8_t low, high;
  };
  std::vector<Bytes> bytes;  // 1 to 4
};

// Blocks that together hold exactly the UTF-8 texts of the set.
std::vector<Utf8Block> Utf8Blocks(const CodePointSet& set);

}  // namespace hearth::grammar
