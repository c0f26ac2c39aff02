#include "gateway/text/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include "gateway/text/utf8.h"

namespace hearth::text {
namespace {

// Up to this many members, comparing each with each finds repeated names fastest.
constexpr size_t kComparedMembers = 16;

using Member = std::pair<std::string, OrderedJson>;

// Where the name of each member first stood: `first[i] == i` unless it repeats an earlier one. Sorting instead of
// hashing: no choice of names makes it slow.
std::vector<size_t> FirstOfEachName(std::span<const Member> members) {
  std::vector<size_t> order(members.size()), first(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int names = members[a].first.compare(members[b].first);
    return names != 0 ? names < 0 : a < b;
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const bool repeats = i > 0 && members[order[i]].first == members[order[i - 1]].first;
    first[order[i]] = repeats ? first[order[i - 1]] : order[i];
  }
  return first;
}

bool HasRepeatedName(std::span<const Member> members) {
  for (size_t i = 1; i < members.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (members[i].first == members[j].first) return true;
    }
  }
  return false;
}

class JsonReader {
 public:
  // `repeated`, unless null, gets the first name that an object gives twice.
  JsonReader(std::string_view text, std::span<const ListLimit> limits, std::optional<std::string>* repeated)
      : text_(text), limits_(limits), repeated_(repeated) {}

  Result<OrderedJson> Document() {
    OrderedJson value;
    SkipBlanks();
    if (!Value(value, 0)) return Error();
    SkipBlanks();
    if (at_ < text_.size()) {
      Fail("something follows the value");
      return Error();
    }
    return value;
  }

 private:
  Status Error() const {
    if (exceeded_ == nullptr) return InvalidArgument(error_, " at byte ", at_);
    const std::string member(exceeded_->member);
    return InvalidArgument(member, " has more than ", exceeded_->most, " entries").WithParam(member);
  }

  bool Fail(const char* what) {
    if (!error_) error_ = what;
    return false;
  }

  // '\0' at the end of the text, which no rule accepts.
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Accept(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void SkipBlanks() {
    while (Peek() == ' ' || Peek() == '\n' || Peek() == '\r' || Peek() == '\t') ++at_;
  }

  bool Value(OrderedJson& out, int depth) {
    if (++values_ > kMaxJsonValues) return Fail("more values than are taken");
    switch (Peek()) {
      case '{':
        return Object(out, depth);
      case '[':
        return Array(out, depth);
      case '"': {
        std::string text;
        if (!String(text)) return false;
        out = std::move(text);
        return true;
      }
      case 't':
        return Word("true", true, out);
      case 'f':
        return Word("false", false, out);
      case 'n':
        return Word("null", nullptr, out);
      default:
        return Number(out);
    }
  }

  bool Word(std::string_view word, OrderedJson value, OrderedJson& out) {
    if (!text_.substr(at_).starts_with(word)) return Fail("unknown word");
    at_ += word.size();
    out = std::move(value);
    return true;
  }

  bool Object(OrderedJson& out, int depth) {
    if (depth == kMaxJsonDepth) return Fail("nested too deeply");
    ++at_;
    const size_t begin = members_.size();
    SkipBlanks();
    if (!Accept('}')) {
      do {
        SkipBlanks();
        std::string key;
        if (Peek() != '"') return Fail("expected a member name");
        if (!String(key)) return false;
        SkipBlanks();
        if (!Accept(':')) return Fail("expected ':'");
        SkipBlanks();
        if (depth == 0) limit_ = LimitOf(key);
        OrderedJson value;
        if (!Value(value, depth + 1)) return false;
        members_.emplace_back(std::move(key), std::move(value));
        SkipBlanks();
      } while (Accept(','));
      if (!Accept('}')) return Fail("expected ',' or '}'");
    }
    out = TakeMembers(begin);
    return true;
  }

  const ListLimit* LimitOf(std::string_view member) const {
    const auto found = std::find_if(limits_.begin(), limits_.end(), [&](const auto& l) { return l.member == member; });
    return found == limits_.end() ? nullptr : &*found;
  }

  // The object of the members from `begin` on.
  OrderedJson::object_t TakeMembers(size_t begin) {
    const std::span<Member> members = std::span(members_).subspan(begin);
    if (members.size() > kComparedMembers || HasRepeatedName(members)) MergeRepeated(begin);
    OrderedJson::object_t object;
    object.reserve(members_.size() - begin);
    for (size_t i = begin; i < members_.size(); ++i) {
      object.emplace_back(std::move(members_[i].first), std::move(members_[i].second));
    }
    members_.resize(begin);
    return object;
  }

  void MergeRepeated(size_t begin) {
    const std::span<Member> members = std::span(members_).subspan(begin);
    const std::vector<size_t> first = FirstOfEachName(members);
    size_t kept = 0;
    std::vector<size_t> place(members.size());  // where a first one has moved to
    for (size_t i = 0; i < members.size(); ++i) {
      if (first[i] != i) {
        if (repeated_ != nullptr && !*repeated_) *repeated_ = members[i].first;
        members[place[first[i]]].second = std::move(members[i].second);
        continue;
      }
      place[i] = kept;
      if (kept != i) members[kept] = std::move(members[i]);
      ++kept;
    }
    members_.resize(begin + kept);
  }

  bool Array(OrderedJson& out, int depth) {
    if (depth == kMaxJsonDepth) return Fail("nested too deeply");
    ++at_;
    const size_t begin = items_.size();
    const ListLimit* limit = depth == 1 ? limit_ : nullptr;
    SkipBlanks();
    if (!Accept(']')) {
      do {
        if (limit != nullptr && items_.size() - begin == limit->most) {
          exceeded_ = limit;
          return Fail("too many items");
        }
        SkipBlanks();
        OrderedJson value;
        if (!Value(value, depth + 1)) return false;
        items_.push_back(std::move(value));
        SkipBlanks();
      } while (Accept(','));
      if (!Accept(']')) return Fail("expected ',' or ']'");
    }
    const auto from = items_.begin() + static_cast<std::ptrdiff_t>(begin);
    out = OrderedJson::array_t(std::make_move_iterator(from), std::make_move_iterator(items_.end()));
    items_.resize(begin);
    return true;
  }

  bool String(std::string& out) {
    ++at_;
    for (;;) {
      const size_t start = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
             static_cast<unsigned char>(text_[at_]) >= 0x20) {
        ++at_;
      }
      out.append(text_, start, at_ - start);
      if (at_ == text_.size()) return Fail("unfinished string");
      if (Accept('"')) return true;
      if (!Accept('\\')) return Fail("control character in a string");
      if (!Escape(out)) return false;
    }
  }

  bool Escape(std::string& out) {
    const char c = Peek();
    constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    if (const size_t i = kNames.find(c); c != '\0' && i != std::string_view::npos) {
      ++at_;
      out.push_back(kValues[i]);
      return true;
    }
    uint32_t code = 0, low = 0;
    if (!Accept('u') || !Hex4(code)) return Fail("unknown escape");
    if (code >= 0xDC00 && code < 0xE000) return Fail("lone surrogate");
    if (code >= 0xD800 && code < 0xDC00) {
      if (!Accept('\\') || !Accept('u') || !Hex4(low) || low < 0xDC00 || low > 0xDFFF) return Fail("lone surrogate");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(out, code);
    return true;
  }

  bool Hex4(uint32_t& value) {
    if (text_.size() - at_ < 4) return false;
    const char* begin = text_.data() + at_;
    if (std::from_chars(begin, begin + 4, value, 16).ptr != begin + 4) return false;
    at_ += 4;
    return true;
  }

  bool Digits() {
    const size_t start = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ > start;
  }

  bool Number(OrderedJson& out) {
    const size_t start = at_;
    const bool negative = Accept('-');
    const bool zero = Peek() == '0';
    const size_t first = at_;
    if (!Digits()) return Fail("expected a value");
    if (zero && at_ - first > 1) return Fail("leading zero");
    bool whole = true;
    if (Accept('.')) {
      whole = false;
      if (!Digits()) return Fail("expected a digit");
    }
    if (Peek() == 'e' || Peek() == 'E') {
      whole = false;
      ++at_;
      if (!Accept('+')) (void)Accept('-');
      if (!Digits()) return Fail("expected a digit");
    }
    const std::string_view number = text_.substr(start, at_ - start);
    return whole ? Integer(number, negative, out) : Real(number, out);
  }

  bool Integer(std::string_view number, bool negative, OrderedJson& out) {
    const char* end = number.data() + number.size();
    int64_t small = 0;
    uint64_t large = 0;
    if (negative && std::from_chars(number.data(), end, small).ec == std::errc()) {
      out = small;
    } else if (!negative && std::from_chars(number.data(), end, large).ec == std::errc()) {
      out = large;
    } else {
      out = OrderedJson::binary(OrderedJson::binary_t::container_type(number.begin(), number.end()));
    }
    return true;
  }

  bool Real(std::string_view number, OrderedJson& out) {
    double value = 0;
    const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
    if (result.ec == std::errc::result_out_of_range) {
      if (IsHuge(number)) return Fail("number outside the range of a double");
      value = number[0] == '-' ? -0.0 : 0.0;  // too small to tell from zero
    }
    out = value;
    return true;
  }

  // For a number of which the magnitude is either above or below everything that a double can hold.
  static bool IsHuge(std::string_view number) {
    if (number[0] == '-') number.remove_prefix(1);
    const size_t e = number.find_first_of("eE");
    const std::string_view mantissa = number.substr(0, e);
    const size_t point = std::min(mantissa.find('.'), mantissa.size());
    const size_t first = mantissa.find_first_of("123456789");
    if (first == std::string_view::npos) return false;
    // Decimal exponent of the first digit that counts.
    const auto place = first < point ? static_cast<int64_t>(point - first) - 1
                                     : static_cast<int64_t>(point) - static_cast<int64_t>(first);
    if (e == std::string_view::npos) return place > 0;
    std::string_view exponent = number.substr(e + 1);
    const bool negative = exponent[0] == '-';
    if (exponent[0] == '-' || exponent[0] == '+') exponent.remove_prefix(1);
    int64_t power = 0;
    if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), power).ec != std::errc()) return !negative;
    return place > (negative ? power : -power);
  }

  std::string_view text_;
  std::span<const ListLimit> limits_;
  std::optional<std::string>* repeated_;
  const ListLimit* limit_ = nullptr;     // of the member of the outermost object that is being read
  const ListLimit* exceeded_ = nullptr;  // the one that ended the reading
  // Stacks of what the open objects and arrays hold so far: each container is then made once, in its final size.
  std::vector<Member> members_;
  std::vector<OrderedJson> items_;
  int64_t values_ = 0;
  size_t at_ = 0;
  const char* error_ = nullptr;
};

}  // namespace

Result<OrderedJson> ParseJsonWithin(std::string_view text, std::span<const ListLimit> limits,
                                    std::optional<std::string>* repeated) {
  if (const size_t good = ValidUtf8Bytes(text); good < text.size()) {
    return InvalidArgument("not valid UTF-8 at byte ", good);
  }
  return JsonReader(text, limits, repeated).Document();
}

Result<OrderedJson> ParseJsonKeepingNumbers(std::string_view text, std::optional<std::string>* repeated) {
  return ParseJsonWithin(text, {}, repeated);
}

}  // namespace hearth::text
