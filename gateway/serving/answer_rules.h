#pragma once

#include "gateway/openai/chat_request.h"
#include "gateway/serving/services.h"

namespace hearth::serving {

// Puts into `spec` what a chat request demands of its answer's form: the format or the calls, and the thinking budget.
// kInvalidArgument names what cannot be enforced.
Status SetChatRules(const ReadyModel& model, const openai::ChatRequest& request, engine::GenerateSpec& spec);

// Bans the ids that have no token: rows of the model's vocabulary that the tokenizer does not know.
void BanUnknownIds(const ReadyModel& model, engine::SamplingParams& sampling);

}  // namespace hearth::serving
