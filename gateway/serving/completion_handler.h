#pragma once

#include "gateway/http/http_message.h"
#include "gateway/serving/services.h"

namespace hearth::serving {

// POST /v1/completions, streamed and whole through one path.
http::HttpResponse HandleCompletion(const Services& services, const http::HttpRequest& request);

}  // namespace hearth::serving
