#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/serving/generation_run.h"

namespace hearth::serving {

using OrderedJson = nlohmann::ordered_json;

// The usage object of a finished run, with our receipts in `hearth`. `prompt_tokens` counts each prompt once.
OrderedJson UsageJson(const GenerationRun& run, const std::vector<ChoiceEnd>& ends, size_t prompt_tokens);

OrderedJson SamplingJson(const engine::SamplingParams& sampling);

// Text of a JSON value for the wire; bytes that are not UTF-8 are replaced.
std::string WireText(const OrderedJson& value);

}  // namespace hearth::serving
