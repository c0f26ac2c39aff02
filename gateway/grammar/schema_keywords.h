#pragma once

#include <span>
#include <string_view>

#include "gateway/text/argument_types.h"

namespace hearth::grammar {

using text::OrderedJson;

// Whether a keyword says nothing about which values are valid.
bool IsAnnotation(std::string_view keyword);
// Whether a keyword is enforced, in some combination.
bool IsEnforced(std::string_view keyword);

// The JSON types a schema is compiled for: `type`; without it the types of `const` and `enum`; without these the type
// that the other keywords speak of; else all. kUnknown: `type` is no type name or list of such.
text::TypeSet CompiledTypes(const OrderedJson& schema);

// The values of `const`, else of `enum`; none where there is neither, or `enum` is no list.
std::span<const OrderedJson> ListedValues(const OrderedJson& schema);

}  // namespace hearth::grammar
