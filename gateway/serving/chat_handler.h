#pragma once

#include "gateway/http/http_message.h"
#include "gateway/serving/services.h"

namespace hearth::serving {

// POST /v1/chat/completions, streamed and whole through one path.
http::HttpResponse HandleChat(const Services& services, const http::HttpRequest& request);

// POST /apply-template: a chat request in, {"prompt","tokens"} out.
http::HttpResponse HandleApplyTemplate(const Services& services, const http::HttpRequest& request);

}  // namespace hearth::serving
