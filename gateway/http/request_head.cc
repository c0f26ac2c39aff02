#include "gateway/http/request_head.h"

#include <algorithm>
#include <charconv>
#include <random>

#include "common/base/status.h"
#include "gateway/http/error_response.h"

namespace hearth::http {
namespace {

constexpr size_t kTargetBytes = 4096;
constexpr size_t kLineBytes = 8000;  // the library's own limit is 8192

bool IsTokenCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::optional<HttpResponse> CheckRequestLine(std::string_view line) {
  const size_t method_end = line.find(' ');
  const size_t target_end = line.rfind(' ');
  if (method_end == std::string_view::npos || target_end <= method_end) {
    return ErrorResponse(400, "the request line is not METHOD TARGET HTTP/1.1", "malformed_request");
  }
  const std::string_view method = line.substr(0, method_end);
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  const std::string_view version = line.substr(target_end + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return ErrorResponse(400, "only HTTP/1.1 and HTTP/1.0 are spoken here", "malformed_request");
  }
  if (target.size() > kTargetBytes) {
    return ErrorResponse(414, StrCat("the request target has ", target.size(), " bytes, at most ", kTargetBytes));
  }
  for (const char c : target) {
    if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7F) {
      return ErrorResponse(400, "the request target holds a byte that must be percent-encoded", "malformed_request");
    }
  }
  if (target.empty() || target[0] != '/') {
    return ErrorResponse(400, "the request target must begin with /", "malformed_request");
  }
  constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
  if (std::find(std::begin(kMethods), std::end(kMethods), method) == std::end(kMethods)) {
    HttpResponse response =
        ErrorResponse(405, "only GET, HEAD, POST and OPTIONS are answered here", "method_not_allowed");
    response.headers.emplace_back("Allow", "GET, HEAD, POST, OPTIONS");
    return response;
  }
  return std::nullopt;
}

}  // namespace

std::optional<HttpResponse> CleanHead(std::string& head, bool& expects_continue) {
  expects_continue = false;
  bool old_version = false;  // knows no interim responses
  bool has_host = false;
  std::string cleaned;
  size_t position = 0;
  for (bool first = true; position < head.size(); first = false) {
    const size_t end = head.find("\r\n", position);
    const std::string_view line(head.data() + position, end - position);
    position = end + 2;
    if (line.size() > kLineBytes) {
      return ErrorResponse(431, StrCat("a header line has ", line.size(), " bytes, at most ", kLineBytes));
    }
    if (line.find('\n') != line.npos || line.find('\r') != line.npos || line.find('\0') != line.npos) {
      return ErrorResponse(400, "the head holds a line break or NUL inside a line", "malformed_request");
    }
    if (first) {
      if (auto refusal = CheckRequestLine(line)) return refusal;
      old_version = line.ends_with("HTTP/1.0");
    } else if (!line.empty()) {
      const size_t colon = line.find(':');
      const std::string_view name = line.substr(0, colon == line.npos ? 0 : colon);
      if (name.empty() || !std::all_of(name.begin(), name.end(), IsTokenCharacter)) {
        return ErrorResponse(400, "a header line is not NAME: VALUE", "malformed_request");
      }
      if (EqualsIgnoreCase(name, "Host")) {
        if (has_host) return ErrorResponse(400, "the head has two Host lines; send one", "malformed_request");
        has_host = true;
      }
      if (EqualsIgnoreCase(name, "Expect")) {
        std::string_view value = line.substr(colon + 1);
        while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
        while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
        expects_continue = !old_version && EqualsIgnoreCase(value, "100-continue");
        continue;
      }
      if (EqualsIgnoreCase(name, "Range") || EqualsIgnoreCase(name, "Accept-Encoding")) continue;
    }
    cleaned.append(line).append("\r\n");
  }
  head = std::move(cleaned);
  return std::nullopt;
}

std::optional<HttpResponse> ReadFraming(const HttpRequest& request, size_t body_limit, BodyFraming& framing) {
  size_t lengths = 0, codings = 0;
  std::string_view length;
  std::string_view coding;
  for (const auto& [name, value] : request.headers) {
    if (EqualsIgnoreCase(name, "Content-Length")) ++lengths, length = value;
    if (EqualsIgnoreCase(name, "Transfer-Encoding")) ++codings, coding = value;
  }
  if (const std::string_view encoding = request.Header("Content-Encoding");
      !encoding.empty() && !EqualsIgnoreCase(encoding, "identity")) {
    return ErrorResponse(415, StrCat("bodies with Content-Encoding ", encoding, " are not taken; send it plain"),
                         "unsupported_encoding");
  }
  if (lengths + codings > 1) {
    return ErrorResponse(400, "give one Content-Length or one Transfer-Encoding", "malformed_request");
  }
  if (codings == 1) {
    if (!EqualsIgnoreCase(coding, "chunked")) {
      return ErrorResponse(501, StrCat("Transfer-Encoding ", coding, " is not known here, only chunked"));
    }
    framing.chunked = true;
    return std::nullopt;
  }
  if (lengths == 0) {
    if (request.method != "POST" && request.method != "PUT" && request.method != "PATCH") return std::nullopt;
    return ErrorResponse(411, "a Content-Length is needed");
  }
  const char* const end = length.data() + length.size();
  const auto [stop, error] = std::from_chars(length.data(), end, framing.length);
  if (error == std::errc::invalid_argument || stop != end) {
    return ErrorResponse(400, "Content-Length is not a number", "malformed_request");
  }
  if (error != std::errc() || framing.length > body_limit) {
    return ErrorResponse(
        413, StrCat("the body has ", length, " bytes, at most ", body_limit, " are taken; see --max-body-bytes"),
        "body_too_large");
  }
  return std::nullopt;
}

std::string RequestId(std::string_view given) {
  const auto harmless = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.';
  };
  if (!given.empty() && given.size() <= 64 && std::all_of(given.begin(), given.end(), harmless)) {
    return std::string(given);
  }
  thread_local std::mt19937_64 random{std::random_device{}()};
  char id[17];
  std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(random()));
  return id;
}

}  // namespace hearth::http
