#pragma once

#include <string>
#include <vector>

#include "gateway/grammar/builder.h"

namespace hearth::grammar {

// What free text is made of besides bytes.
struct FreeText {
  std::vector<std::string> without;  // none of these byte strings occurs in it
  bool tokens = false;               // any added token but the automaton's exceptions
};

// Writes states that read free text from `from` on; `to` can be reached behind every byte and token of it, and at once.
// Nothing else may lead out of `from`.
void EmitFreeText(Builder& builder, const FreeText& text, int32_t from, int32_t to);

}  // namespace hearth::grammar
