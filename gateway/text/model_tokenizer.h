#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "gateway/text/tokenizer.h"

namespace hearth::text {

// What keeps a gateway from serving a model with the tokenizer.json of a folder. Refusals name the folder; whoever
// tells them adds how another one is named.

Result<Tokenizer> LoadModelTokenizer(const std::string& dir);

// A model has a row for every id that its tokenizer gives, and often more.
Status CheckModelHasIds(const Tokenizer& tokenizer, const std::string& dir, int64_t model_ids);

}  // namespace hearth::text
