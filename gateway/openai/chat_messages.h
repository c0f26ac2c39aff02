#pragma once

#include "common/base/result.h"
#include "gateway/openai/field_reader.h"

namespace hearth::openai {

inline constexpr size_t kMaxMessages = 4096, kMaxTools = 512;

// The `messages` of a request as the chat template reads them: known roles only (developer becomes system, function
// becomes tool), `reasoning` under the name reasoning_content, arguments of calls as objects. Refuses everything the
// template would drop or misread, naming the message: unknown roles and part types, media ("text only"), calls outside
// assistant messages, an empty list, a last message of the assistant, references to tools among other parts or to a
// function that `tools` (the request's, in any shape; null pointer: none) does not have.
Result<OrderedJson> NormalizeMessages(const OrderedJson& messages, const OrderedJson* tools);

// The `tools` of a request, checked: functions with a name, and parameters that are an object where given.
Status CheckTools(const OrderedJson& tools);

}  // namespace hearth::openai
