// Lists of messages and tools, as JSON: {"messages": [..], "tools": [..], ..}, from the request to the prompt's ids.
#include "gateway/openai/chat_request.h"
#include "gateway/openai/request_body.h"
#include "gateway/text/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tests/gateway/text/test_data.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  const auto body = openai::ParseBody({reinterpret_cast<const char*>(data), size});
  if (!body.ok()) return 0;
  const auto request = openai::ParseChatRequest(*body, /*strict=*/false);
  if (!request.ok()) return 0;
  const auto prompt = text::RenderChat(request->prompt);
  if (!prompt.ok()) {
    FUZZ_CHECK(!prompt.status().message().empty());
    return 0;
  }
  for (const text::Segment& segment : *prompt) FUZZ_CHECK(!segment.text.empty());
  const std::string joined = text::JoinSegments(*prompt);
  FUZZ_CHECK(text::ValidUtf8Bytes(joined) == joined.size());
  const std::vector<int32_t> ids = text::TinyTokenizer().EncodeSegments(*prompt);
  FUZZ_CHECK(text::TinyTokenizer().Decode(ids, /*skip_special=*/false) == joined);
  // No text of a message becomes a tag.
  size_t content_tags = 0;
  for (const text::Segment& segment : *prompt) {
    if (segment.is_markup) continue;
    for (const int32_t id : text::TinyTokenizer().EncodeContent(segment.text)) {
      content_tags += text::TinyTokenizer().IsAdded(id);
    }
  }
  FUZZ_CHECK(content_tags == 0);
  return 0;
}
