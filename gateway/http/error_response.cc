#include "gateway/http/error_response.h"

#include <nlohmann/json.hpp>

#include "common/base/utf8_prefix.h"

namespace hearth::http {
namespace {

struct Row {
  StatusCode code;
  int http;
  const char* type;
  const char* name;  // of `code` in the error object
};

constexpr Row kTable[] = {
    {StatusCode::kOk, 200, "", ""},
    {StatusCode::kInvalidArgument, 400, "invalid_request_error", "invalid_value"},
    // Means nothing else, here and from workers: clients shorten the history on this name and send it again.
    {StatusCode::kFailedPrecondition, 400, "invalid_request_error", "context_length_exceeded"},
    {StatusCode::kNotFound, 404, "invalid_request_error", "model_not_found"},
    {StatusCode::kResourceExhausted, 429, "rate_limit_error", "queue_full"},
    {StatusCode::kCancelled, 499, "cancelled", "cancelled"},
    {StatusCode::kInternal, 500, "server_error", "internal_error"},
    {StatusCode::kUnavailable, 503, "server_error", "unavailable"},
    {StatusCode::kDeadlineExceeded, 504, "server_error", "timeout"},
};

const Row& RowOf(StatusCode code) {
  for (const Row& row : kTable) {
    if (row.code == code) return row;
  }
  return RowOf(StatusCode::kInternal);
}

// Both may quote the request, whose names and values can be as long as its body.
constexpr size_t kMostMessageBytes = 2000;
constexpr size_t kMostParamBytes = 200;

std::string Body(const std::string& message, const char* type, const std::string& param, const std::string& code) {
  nlohmann::ordered_json error;
  error["message"] = Utf8Prefix(message, kMostMessageBytes);
  error["type"] = type;
  error["param"] =
      param.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(Utf8Prefix(param, kMostParamBytes));
  error["code"] = code.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(code);
  nlohmann::ordered_json body;
  body["error"] = std::move(error);
  // Messages may quote bytes of the request: what is not UTF-8 is replaced.
  return body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

int HttpStatusOf(StatusCode code) { return RowOf(code).http; }

std::string ErrorBody(const Status& status) {
  const Row& row = RowOf(status.code());
  return Body(status.message(), row.type, status.param(), row.name);
}

HttpResponse ErrorResponse(const Status& status) {
  HttpResponse response{.status = HttpStatusOf(status.code()), .body = ErrorBody(status)};
  if (response.status == 429) response.headers.emplace_back("Retry-After", "1");
  if (response.status == 503) response.headers.emplace_back("Retry-After", "2");
  return response;
}

HttpResponse ErrorResponse(int http_status, const std::string& message, const std::string& code) {
  const char* type = http_status >= 500 ? "server_error" : "invalid_request_error";
  HttpResponse response{.status = http_status, .body = Body(message, type, "", code)};
  if (http_status == 503) response.headers.emplace_back("Retry-After", "2");
  if (http_status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

const char* ReasonPhrase(int http_status) {
  switch (http_status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Error";
  }
}

}  // namespace hearth::http
