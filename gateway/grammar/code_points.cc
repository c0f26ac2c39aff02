#include "gateway/grammar/code_points.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gateway/text/utf8.h"

namespace hearth::grammar {
namespace {

constexpr uint32_t kLast = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;
constexpr uint32_t kLengthEnds[] = {0x7F, 0x7FF, 0xFFFF, kLast};

// Both ends have the same UTF-8 length.
void Split(uint32_t low, uint32_t high, std::vector<Utf8Block>& out) {
  std::string first, last;
  text::AppendUtf8(first, low);
  text::AppendUtf8(last, high);
  // Cut where the bytes after the first difference do not run over their whole range.
  for (size_t i = 1; i < first.size(); ++i) {
    const uint32_t tail = (uint32_t{1} << (6 * i)) - 1;
    if ((low | tail) == (high | tail)) continue;
    if ((low & tail) != 0) {
      Split(low, low | tail, out);
      Split((low | tail) + 1, high, out);
      return;
    }
    if ((high & tail) != tail) {
      Split(low, (high & ~tail) - 1, out);
      Split(high & ~tail, high, out);
      return;
    }
  }
  Utf8Block block;
  for (size_t i = 0; i < first.size(); ++i) {
    block.bytes.push_back({static_cast<uint8_t>(first[i]), static_cast<uint8_t>(last[i])});
  }
  out.push_back(std::move(block));
}

}  // namespace

void CodePointSet::Add(uint32_t low, uint32_t high) {
  high = std::min(high, kLast);
  if (low > high) return;
  if (low <= kLastSurrogate && high >= kFirstSurrogate) {
    if (low < kFirstSurrogate) Add(low, kFirstSurrogate - 1);
    if (high > kLastSurrogate) Add(kLastSurrogate + 1, high);
    return;
  }
  // The ranges that overlap or touch the new one become one with it.
  const auto first =
      std::partition_point(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.high + 1 < low; });
  const auto last = std::partition_point(first, ranges_.end(), [&](const Range& r) { return r.low <= high + 1; });
  if (first == last) {
    ranges_.insert(first, Range{low, high});
    return;
  }
  *first = {std::min(low, first->low), std::max(high, std::prev(last)->high)};
  ranges_.erase(std::next(first), last);
}

void CodePointSet::Add(const CodePointSet& other) {
  for (const Range& range : other.ranges_) Add(range.low, range.high);
}

CodePointSet CodePointSet::Complement() const {
  CodePointSet out;
  uint32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.low > next) out.Add(next, range.low - 1);
    next = range.high + 1;
  }
  out.Add(next, kLast);
  return out;
}

CodePointSet CodePointSet::Without(const CodePointSet& other) const { return And(other.Complement()); }

CodePointSet CodePointSet::And(const CodePointSet& other) const {
  CodePointSet out;
  for (auto a = ranges_.begin(), b = other.ranges_.begin(); a != ranges_.end() && b != other.ranges_.end();) {
    out.Add(std::max(a->low, b->low), std::min(a->high, b->high));
    ++(a->high < b->high ? a : b);
  }
  return out;
}

bool CodePointSet::Contains(uint32_t code_point) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const Range& r) { return r.low <= code_point && code_point <= r.high; });
}

std::vector<Utf8Block> Utf8Blocks(const CodePointSet& set) {
  std::vector<Utf8Block> out;
  for (const CodePointSet::Range& range : set.ranges()) {
    uint32_t low = range.low;
    for (const uint32_t end : kLengthEnds) {
      if (low > range.high) break;
      if (low > end) continue;
      const uint32_t high = std::min(range.high, end);
      Split(low, high, out);
      low = high + 1;
    }
  }
  return out;
}

}  // namespace hearth::grammar
