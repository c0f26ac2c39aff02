#pragma once

#include <vector>

#include "common/base/result.h"
#include "gateway/serving/services.h"

namespace hearth::serving {

// Every row that `spec` asks for, from spec.first_row to the last one. Cancels the worker's side once the client has
// left. kInternal when the worker leaves rows out.
Result<std::vector<engine::ScoreRow>> ScoreRows(const Services& services, const http::HttpRequest& request,
                                                const engine::ScoreSpec& spec);

}  // namespace hearth::serving
