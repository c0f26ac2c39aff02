#pragma once

#include "gateway/http/http_message.h"
#include "gateway/serving/services.h"

namespace hearth::serving {

// GET /health: 200 only when a worker answers and is ready; 503 with the state otherwise.
http::HttpResponse HandleHealth(const Services& services, const http::HttpRequest& request);
// GET /health/live: the gateway alone.
http::HttpResponse HandleLive(const Services& services, const http::HttpRequest& request);
http::HttpResponse HandleModels(const Services& services, const http::HttpRequest& request);
// GET /v1/models/NAME.
http::HttpResponse HandleModel(const Services& services, const http::HttpRequest& request);
http::HttpResponse HandleServerInfo(const Services& services, const http::HttpRequest& request);
http::HttpResponse HandleStats(const Services& services, const http::HttpRequest& request);
http::HttpResponse HandleMetrics(const Services& services, const http::HttpRequest& request);

}  // namespace hearth::serving
