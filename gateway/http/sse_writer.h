#pragma once

#include <chrono>
#include <string_view>

#include "gateway/http/http_message.h"

namespace hearth::http {

// Server-sent events over a streamed body. Every event is sent at once; false from any member means that the client
// is gone or does not read.
class SseWriter {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SseWriter(BodyWriter& body) : body_(body) {}

  bool Event(std::string_view data);  // one line of text, without a line break
  bool Comment(std::string_view text);
  bool Done() { return Event("[DONE]"); }
  bool alive() const { return alive_; }
  bool timed_out() const { return body_.timed_out(); }
  // Since the last write, or since this object was made.
  Clock::duration quiet_for() const { return Clock::now() - last_write_; }

 private:
  bool Send(std::string_view text);

  BodyWriter& body_;
  bool alive_ = true;
  Clock::time_point last_write_ = Clock::now();
};

}  // namespace hearth::http
