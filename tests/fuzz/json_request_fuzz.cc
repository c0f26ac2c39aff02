// Bodies of requests, through every parser of requests. The first byte picks the route.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "gateway/openai/chat_request.h"
#include "gateway/openai/completion_request.h"
#include "gateway/openai/request_body.h"
#include "gateway/sglang/generate_request.h"
#include "gateway/text/utf8.h"
#include "tests/fuzz/fuzz.h"

namespace hearth {
namespace {

template <typename Request>
void CheckOutcome(const Result<Request>& request) {
  if (request.ok()) return;
  FUZZ_CHECK(!request.status().message().empty());
  FUZZ_CHECK(request.status().code() == StatusCode::kInvalidArgument);
}

int LongestDigits(std::string_view text) {
  int longest = 0, run = 0;
  for (const char c : text) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

void CheckBody(std::string_view body, unsigned route) {
  const Result<openai::OrderedJson> parsed = openai::ParseBody(body);
  CheckOutcome(parsed);
  if (!parsed.ok()) return;
  // What is accepted is JSON to others too, unless they cannot hold an integer, and is written as something that is read
  // the same.
  FUZZ_CHECK(nlohmann::json::accept(body) || LongestDigits(body) > std::numeric_limits<double>::max_exponent10);
  const std::string written = text::JsonText(*parsed);
  const Result<openai::OrderedJson> again = openai::ParseBody(written);
  FUZZ_CHECK(again.ok() && text::JsonText(*again) == written);
  const bool strict = route % 2 == 1;
  if (route / 2 == 0) CheckOutcome(openai::ParseChatRequest(*parsed, strict));
  if (route / 2 == 1) CheckOutcome(openai::ParseCompletionRequest(*parsed, strict));
  if (route / 2 == 2) CheckOutcome(sglang::ParseGenerateRequest(*parsed, strict));
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const unsigned route = hearth::fuzz::TakeChoice(input, 6);
  hearth::CheckBody(input, route);
  return 0;
}
