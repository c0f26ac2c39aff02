#pragma once

#include <string>
#include <string_view>

namespace hearth::text {

// A tokenizer.json's expression as PCRE2 must see it so that both engines agree on every character: \s is the property
// White_Space (PCRE2's own has U+180E as well), and letters and numbers are those of Unicode 16, whatever version the
// installed library has tables for.
std::string ForPcre2(std::string_view expression);

}  // namespace hearth::text
