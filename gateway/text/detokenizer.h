#pragma once

#include <cstdint>
#include <string>

#include "gateway/text/tokenizer.h"

namespace hearth::text {

// Turns ids into text as they come. Holds back up to 3 bytes until a UTF-8 character is complete; bytes that can never
// become one are replaced by U+FFFD at once.
class Detokenizer {
 public:
  // `tokenizer` outlives this object.
  Detokenizer(const Tokenizer& tokenizer, bool skip_special) : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  // New complete text, maybe empty.
  std::string Push(int32_t id);
  // What was held back, as U+FFFD; "" when nothing was.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string held_;
};

// Valid UTF-8 of `bytes` with every maximal invalid part replaced by U+FFFD. With `hold_incomplete`, an incomplete
// character at the end is left in `rest` instead.
std::string SanitizeUtf8(std::string_view bytes, bool hold_incomplete, std::string* rest);

bool IsValidUtf8(std::string_view bytes);

}  // namespace hearth::text
