#pragma once

#include <cstddef>

#include "common/base/status.h"
#include "gateway/text/json_text.h"
#include "gateway/text/prompt_builder.h"

namespace hearth::text {

// Renders messages [begin, end), one maximal run of role `tool`, in the order of the calls that they answer where the
// ids allow that, else as they stand.
Status RenderToolResults(const OrderedJson& messages, size_t begin, size_t end, const OrderedJson& tools,
                         PromptBuilder& out);

}  // namespace hearth::text
