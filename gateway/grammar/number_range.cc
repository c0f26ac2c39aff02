#include "gateway/grammar/number_range.h"

#include <algorithm>
#include <array>

namespace hearth::grammar {
namespace {

// A magnitude: digits before and after the point, the first ones without leading zeros ("0" for none).
struct Magnitude {
  std::string whole = "0", fraction;
  bool exclusive = false;
};

Magnitude Split(const NumberBound& bound) {
  std::string text = bound.decimal;
  if (text.starts_with('-')) text.erase(0, 1);
  Magnitude out{.exclusive = bound.exclusive};
  const size_t point = text.find('.');
  out.whole = text.substr(0, point);
  if (point != std::string::npos) out.fraction = text.substr(point + 1);
  while (out.fraction.ends_with('0')) out.fraction.pop_back();
  return out;
}

bool IsZero(const Magnitude& m) { return m.whole == "0" && m.fraction.empty(); }
bool Negative(const NumberBound& bound) { return bound.decimal.starts_with('-') && !IsZero(Split(bound)); }

// Numbers with as many digits before the point as both bounds have: low <= x <= high, digit by digit. A state is
// (place, still equal to low so far, still equal to high so far).
class Digits {
 public:
  Digits(Builder& builder, Magnitude low, Magnitude high, bool whole)
      : builder_(builder), low_(std::move(low)), high_(std::move(high)), whole_(whole) {
    const size_t places = std::max(low_.fraction.size(), high_.fraction.size());
    if (whole_) {
      // A whole number reaches a bound with a fraction only from the inside.
      if (!high_.fraction.empty()) high_.exclusive = false;
      low_.exclusive = low_.exclusive || !low_.fraction.empty();
      low_.fraction.clear();
      high_.fraction.clear();
    } else {
      low_.fraction.resize(places, '0');
      high_.fraction.resize(places, '0');
    }
    low_digits_ = low_.whole + low_.fraction;
    high_digits_ = high_.whole + high_.fraction;
  }

  int32_t Rule() {
    const int32_t rule = builder_.Reserve("range");
    end_ = builder_.State(/*end=*/true);
    From(builder_.Start(rule), 0, true, true);
    return rule;
  }

 private:
  bool ZerosFrom(const std::string& digits, size_t place) const {
    return std::all_of(digits.begin() + static_cast<std::ptrdiff_t>(place), digits.end(),
                       [](char c) { return c == '0'; });
  }
  // Whether the number may end before `place`, everything behind being zero.
  bool MayEnd(size_t place, bool at_low, bool at_high) const {
    if (at_low && !ZerosFrom(low_digits_, place)) return false;
    if (at_low && low_.exclusive) return false;
    return !(at_high && high_.exclusive && ZerosFrom(high_digits_, place));
  }

  void From(int32_t state, size_t place, bool at_low, bool at_high) {
    if (place == low_.whole.size()) {
      if (MayEnd(place, at_low, at_high)) builder_.Empty(state, end_);
      if (whole_) return;
      const int32_t next = builder_.State();
      builder_.Emit(Text("."), state, next);
      Fraction(next, place, at_low, at_high, /*first=*/true);
      return;
    }
    Step(state, place, at_low, at_high);
  }

  void Fraction(int32_t state, size_t place, bool at_low, bool at_high, bool first) {
    if (!first && MayEnd(place, at_low, at_high)) builder_.Empty(state, end_);
    if (place < low_digits_.size()) return Step(state, place, at_low, at_high);
    const size_t left = kMaxFractionDigits - std::min(kMaxFractionDigits, place - low_.whole.size());
    if (left == 0) return;
    const PieceRef any = Bytes('0', '9');
    if (at_high) {
      // Only zeros may follow, and the number is the bound itself.
      if (!high_.exclusive && !(at_low && low_.exclusive)) builder_.Emit(Repeat(Text("0"), 1, left), state, end_);
    } else if (at_low && low_.exclusive) {
      const size_t zeros = left - 1;
      builder_.Emit(Sequence({Repeat(Text("0"), 0, zeros / 2), Bytes('1', '9'), Repeat(any, 0, left - 1 - zeros / 2)}),
                    state, end_);
    } else {
      builder_.Emit(Repeat(any, 1, left), state, end_);
    }
  }

  void Step(int32_t state, size_t place, bool at_low, bool at_high) {
    const char least = at_low ? low_digits_[place] : '0', most = at_high ? high_digits_[place] : '9';
    for (char digit = least; digit <= most; ++digit) {
      const bool still_low = at_low && digit == least, still_high = at_high && digit == most;
      char last = digit;  // digits inside lead to the same state
      if (!still_low && !still_high) last = static_cast<char>(at_high ? most - 1 : most);
      builder_.Emit(Bytes(static_cast<uint8_t>(digit), static_cast<uint8_t>(last)), state,
                    Target(place + 1, still_low, still_high));
      digit = last;
    }
  }

  int32_t Target(size_t place, bool at_low, bool at_high) {
    int32_t& known = known_[{place, at_low, at_high}];
    if (known != 0) return known;
    known = builder_.State();
    const int32_t state = known;
    if (place <= low_.whole.size()) {
      From(state, place, at_low, at_high);
    } else {
      Fraction(state, place, at_low, at_high, /*first=*/false);
    }
    return state;
  }

  Builder& builder_;
  Magnitude low_, high_;
  const bool whole_;
  std::string low_digits_, high_digits_;
  int32_t end_ = 0;
  std::map<std::tuple<size_t, bool, bool>, int32_t> known_;
};

bool Less(const Magnitude& a, const Magnitude& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size();
  if (a.whole != b.whole) return a.whole < b.whole;
  return a.fraction < b.fraction;
}

// Magnitudes from low to high, one rule for each number of digits before the point.
void AddMagnitudes(Builder& builder, const Magnitude& low, const Magnitude& high, bool whole, const char* sign,
                   std::vector<PieceRef>& out) {
  for (size_t digits = low.whole.size(); digits <= std::min(high.whole.size(), kMaxIntegerDigits); ++digits) {
    Magnitude from{.whole = std::string(digits, '0')};
    if (digits > 1) from.whole.front() = '1';
    Magnitude to{.whole = std::string(digits, '9'), .fraction = whole ? "" : std::string(kMaxFractionDigits, '9')};
    if (digits == low.whole.size()) from = low;
    if (digits == high.whole.size()) to = high;
    if (Less(to, from)) continue;
    out.push_back(Sequence({Text(sign), Rule(Digits(builder, from, to, whole).Rule())}));
  }
}

}  // namespace

PieceRef NumberRange(Builder& builder, const std::optional<NumberBound>& low, const std::optional<NumberBound>& high,
                     bool whole) {
  const Magnitude infinite{.whole = std::string(kMaxIntegerDigits, '9'),
                           .fraction = whole ? "" : std::string(kMaxFractionDigits, '9')};
  std::vector<PieceRef> ways;
  if (!high || !Negative(*high)) {
    const Magnitude from = low && !Negative(*low) ? Split(*low) : Magnitude{};
    AddMagnitudes(builder, from, high ? Split(*high) : infinite, whole, "", ways);
  }
  if (!low || Negative(*low)) {
    // Zero is written without a sign.
    const Magnitude from = high && Negative(*high) ? Split(*high) : Magnitude{.exclusive = true};
    AddMagnitudes(builder, from, low ? Split(*low) : infinite, whole, "-", ways);
  }
  return Choice(std::move(ways));
}

}  // namespace hearth::grammar
