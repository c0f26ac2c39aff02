#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "gateway/openai/field_reader.h"

namespace hearth::openai {

// Members of messages, their text parts and calls, and of tools that are read by nobody, such as a message's `name` or
// a part's `cache_control`. Lands in `unknown` as "messages[].name", each once; with `strict` the first is refused,
// with its full place. null counts as absent. `messages` and `tools` may be of any shape: others refuse what is wrong.
Status CheckInnerFields(const OrderedJson& body, bool strict, std::vector<std::string>& unknown);

}  // namespace hearth::openai
