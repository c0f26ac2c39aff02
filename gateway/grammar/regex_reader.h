#pragma once

#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "gateway/grammar/code_points.h"

namespace hearth::grammar {

// The characters of an expression, and its classes and escapes. The first mistake is kept; after it the text is over.
class RegexReader {
 public:
  // Valid UTF-8.
  explicit RegexReader(std::string_view text) : text_(text) {}

  bool done() const { return !status_.ok() || at_ >= text_.size(); }
  bool Looks(std::string_view next) const { return !done() && text_.substr(at_).starts_with(next); }
  bool Take(std::string_view next);
  uint32_t Next();
  size_t position() const { return at_; }

  // Behind a backslash: the set it stands for. White space is what all dialects agree on, also where the set will be
  // turned round (`negated`): of what they disagree on neither \s nor \S has anything.
  CodePointSet Escape(bool in_class, bool negated = false);
  // Behind `[`: up to and with the `]`.
  CodePointSet Class();
  std::optional<size_t> Number();

  void Fail(const std::string& what);
  const Status& status() const { return status_; }

 private:
  uint32_t Hex(size_t digits);
  CodePointSet ClassMember(bool negated);

  const std::string_view text_;
  size_t at_ = 0;
  Status status_;
};

}  // namespace hearth::grammar
