#pragma once

#include <string>

#include "gateway/http/http_message.h"

namespace hearth::page {

// The built-in page: a chat and live figures in one HTML file. It holds no data of this server, so it needs no API key;
// what it asks for does.
const std::string& PageText();

// Allows exactly the page's own inline script and style, by their hashes, and requests to this server.
const std::string& PageSecurityPolicy();

http::HttpResponse HandlePage(const http::HttpRequest& request);

}  // namespace hearth::page
