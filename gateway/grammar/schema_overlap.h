#pragma once

#include "gateway/grammar/schema_keywords.h"

namespace hearth::grammar {

// Whether it is plain to see that no value is valid for both schemas: by their types, their listed values, or a
// property that both require. False means only that it is not plain. `root` resolves references. Takes
// one of `steps_left` for every comparison and gives up without any.
bool PlainlyDisjoint(const OrderedJson& root, const OrderedJson& a, const OrderedJson& b, int& steps_left);

}  // namespace hearth::grammar
