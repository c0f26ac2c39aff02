#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "gateway/text/json_text.h"

namespace hearth::text {

// At most so many items in the list that a member of the outermost object is.
struct ListLimit {
  std::string_view member;
  size_t most;
};

// ParseJsonKeepingNumbers for text from strangers: a list that is too long is refused at the first item too many, so
// that the rest costs nothing; the error's param is the member then. `repeated`, unless null, gets the first name that
// an object gives twice.
Result<OrderedJson> ParseJsonWithin(std::string_view text, std::span<const ListLimit> limits,
                                    std::optional<std::string>* repeated);

}  // namespace hearth::text
