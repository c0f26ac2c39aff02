#include "gateway/http/sse_writer.h"

#include <string>

namespace hearth::http {

bool SseWriter::Send(std::string_view text) {
  alive_ = alive_ && body_.Write(text);
  last_write_ = Clock::now();
  return alive_;
}

bool SseWriter::Event(std::string_view data) {
  std::string text;
  text.reserve(data.size() + 8);
  text.append("data: ").append(data).append("\n\n");
  return Send(text);
}

bool SseWriter::Comment(std::string_view text) { return Send(std::string(": ").append(text).append("\n\n")); }

}  // namespace hearth::http
