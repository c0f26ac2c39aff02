#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace hearth::text {

// A piece of a rendered prompt. Markup may become added tokens; content never does unless the caller joins both.
struct Segment {
  std::string text;
  bool is_markup = false;
};

// Byte-level BPE as described by a `tokenizer.json` (spec of the format: docs/tokenizer.md): added tokens first, then
// the pre-tokenizer expression (PCRE2), then merges inside each piece. Immutable after Load; safe from many threads.
class Tokenizer {
 public:
  // `path` names tokenizer.json. Refuses what it does not implement, naming key and value.
  static Result<Tokenizer> Load(const std::string& path);
  // The same from the file's text.
  static Result<Tokenizer> FromJson(std::string_view json_text);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Text with added tokens recognised everywhere, as the reference does. `text` must be valid UTF-8.
  std::vector<int32_t> Encode(std::string_view text) const;
  // Text in which added tokens stay ordinary text.
  std::vector<int32_t> EncodeContent(std::string_view text) const;
  // Markup with added tokens, content without.
  std::vector<int32_t> EncodeSegments(std::span<const Segment> segments) const;

  // Bytes of one token; empty for an id without an entry. Added tokens give their text.
  std::string_view TokenBytes(int32_t id) const;
  // Joined bytes, invalid UTF-8 replaced by U+FFFD. Tokens flagged special vanish when `skip_special`.
  std::string Decode(std::span<const int32_t> ids, bool skip_special) const;

  std::optional<int32_t> TokenId(std::string_view added_token_text) const;  // added tokens only
  bool IsAdded(int32_t id) const;
  bool IsSpecial(int32_t id) const;
  // One past the largest id that has an entry.
  int32_t vocab_size() const;
  struct AddedToken {
    int32_t id;
    std::string content;
    bool special;
  };
  const std::vector<AddedToken>& added_tokens() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::text
