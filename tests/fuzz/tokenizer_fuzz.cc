// Any bytes as text to encode, and any ids to decode. The first byte picks.
#include "gateway/text/detokenizer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

void CheckText(std::string_view text) {
  const Tokenizer& tokenizer = TinyTokenizer();
  const std::string clean = SanitizeUtf8(text, /*hold_incomplete=*/false, nullptr);
  const std::vector<int32_t> ids = tokenizer.Encode(text), content = tokenizer.EncodeContent(text);
  FUZZ_CHECK(tokenizer.Decode(ids, /*skip_special=*/false) == clean);
  FUZZ_CHECK(tokenizer.Decode(content, /*skip_special=*/false) == clean);
  for (const int32_t id : content) FUZZ_CHECK(!tokenizer.IsAdded(id));
}

// Two bytes an id, some of them outside the vocabulary.
void CheckIds(std::string_view bytes) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    ids.push_back(static_cast<unsigned char>(bytes[i]) << 8 | static_cast<unsigned char>(bytes[i + 1]));
  }
  for (const bool skip : {false, true}) {
    Detokenizer streaming(TinyTokenizer(), skip);
    std::string streamed;
    for (const int32_t id : ids) {
      const std::string piece = streaming.Push(id);
      FUZZ_CHECK(IsValidUtf8(piece));
      streamed += piece;
    }
    streamed += streaming.Finish();
    FUZZ_CHECK(streamed == TinyTokenizer().Decode(ids, skip));
  }
}

}  // namespace
}  // namespace hearth::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (hearth::fuzz::TakeChoice(input, 4) == 0) {
    hearth::text::CheckIds(input);
  } else {
    hearth::text::CheckText(input);
  }
  return 0;
}
