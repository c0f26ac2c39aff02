#pragma once

#include <vector>

#include "common/base/deadline.h"
#include "common/base/result.h"
#include "gateway/serving/services.h"

namespace hearth::serving {

// Log-probabilities of scored tokens that one response may list, over all its prompts and choices.
constexpr size_t kMaxScoreEntries = 4'000'000;

// kInvalidArgument that blames `param` when a response would list more; `help` says what to change. Asked before the
// scoring.
Status CheckScoreEntries(size_t entries, const char* param, const char* help);

// Every row that `spec` asks for, from spec.first_row to the last one. As long as no row has come, another worker takes
// the place of one that fails. Cancels the worker's side once the client has left. kDeadlineExceeded at `deadline`;
// kInternal when the worker leaves rows out.
Result<std::vector<engine::ScoreRow>> ScoreRows(const Services& services, const http::HttpRequest& request,
                                                const engine::ScoreSpec& spec, Deadline deadline);

}  // namespace hearth::serving
