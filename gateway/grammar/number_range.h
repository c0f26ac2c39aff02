#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "gateway/grammar/json_rules.h"

namespace hearth::grammar {

// A bound of a number as the decimal text it was written with.
struct NumberBound {
  std::string decimal;  // "-12", "0.5": plain notation
  bool exclusive = false;
};

// The decimal numbers in a range as JSON writes them, without exponents; whole ones only when `whole`. At most
// kMaxIntegerDigits and kMaxFractionDigits digits. A range without members gives a piece that matches nothing.
PieceRef NumberRange(Builder& builder, const std::optional<NumberBound>& low, const std::optional<NumberBound>& high,
                     bool whole);

}  // namespace hearth::grammar
