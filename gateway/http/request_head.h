#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "gateway/http/http_message.h"

namespace hearth::http {

// Prepares the raw head of a request for the HTTP library: refuses what the library would answer badly and takes out
// what it must not act on (Range, Accept-Encoding, Expect). The answer is the refusal, or nothing. `expects_continue`
// becomes whether the client waits for 100 Continue before it sends the body.
std::optional<HttpResponse> CleanHead(std::string& head, bool& expects_continue);

// How the body of a request is delimited.
struct BodyFraming {
  bool chunked = false;
  size_t length = 0;
};

// From the headers: refuses Content-Encoding (415), both framings at once, other transfer codings and broken lengths.
std::optional<HttpResponse> ReadFraming(const HttpRequest& request, size_t body_limit, BodyFraming& framing);

// The client's x-request-id when it has 1 to 64 harmless characters, else 16 random hex digits.
std::string RequestId(std::string_view given);

}  // namespace hearth::http
