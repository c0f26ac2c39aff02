#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "gateway/grammar/builder.h"

namespace hearth::grammar {

// How one character of a set is written where the expression applies.
using WriteSet = std::function<PieceRef(const CodePointSet&)>;

struct RegexOptions {
  WriteSet write;
  // Whether the whole text must match. Otherwise a match anywhere in it counts, as JSON schema has it, unless ^ and $
  // say more.
  bool whole = true;
};

// The texts that a regular expression matches. Syntax: literals, `.` (no line break), classes, \d \w \s (ASCII) and
// their complements, escapes (\t \n \r \f \v \0 \xHH \uHHHH \u{H..}), groups (capturing, named or not), alternatives,
// ? * + {m} {m,} {m,n} with bounds up to 1000, also lazy, ^ and $ at the ends of the expression or of its outermost
// alternatives. Everything else, look-around and back references among it, is kInvalidArgument, by name.
Result<PieceRef> ParseRegex(std::string_view expression, const RegexOptions& options);

}  // namespace hearth::grammar
