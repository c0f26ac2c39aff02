#pragma once

#include <string>
#include <string_view>

#include "gateway/text/argument_types.h"

namespace hearth::text {

// JSON text of an argument that the model wrote as `raw` (valid UTF-8) for a parameter of these types. A value that
// fits none of them is kept in the form closest to what was written: nothing is dropped.
std::string ArgumentText(std::string_view raw, TypeSet types);

}  // namespace hearth::text
