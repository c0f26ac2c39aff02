#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::http {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// What a handler wants in the request's access log line.
struct RequestNote {
  int64_t prompt_tokens = -1;      // -1: not printed
  int64_t completion_tokens = -1;  // -1: not printed
  std::string finish_reason;
  std::string error;
};

// One request, complete with its body. Header names compare without case.
struct HttpRequest {
  std::string method;  // HEAD arrives as GET
  std::string path;    // percent-decoded, without query
  HeaderList headers;
  std::string body;
  std::string remote;  // address of the peer
  std::string id;      // x-request-id: the client's when it is harmless, else drawn here
  // True once nobody waits for the answer any more: the client closed its side, or draining ran out of time, which
  // drain_over tells apart: then the client is there to be told. Never block. Handlers that wait ask every 20 ms.
  std::function<bool()> client_left = [] { return false; };
  std::function<bool()> drain_over = [] { return false; };
  std::shared_ptr<RequestNote> note = std::make_shared<RequestNote>();

  // First value, "" when there is none.
  std::string_view Header(std::string_view name) const;
};

// Where a streamed body goes.
class BodyWriter {
 public:
  virtual ~BodyWriter() = default;
  // Sends at once. False when the client has left or did not read for the write timeout; everything after is dropped.
  virtual bool Write(std::string_view data) = 0;
  // Whether the last failed Write() ran into the write timeout.
  virtual bool timed_out() const = 0;
};

struct HttpResponse {
  int status = 200;
  HeaderList headers;
  std::string content_type = "application/json";
  std::string body;
  // When set, the body is what it writes; status and headers have been sent before it runs.
  std::function<void(BodyWriter&)> stream;
};

using Handler = std::function<HttpResponse(const HttpRequest&)>;

bool EqualsIgnoreCase(std::string_view a, std::string_view b);

}  // namespace hearth::http
