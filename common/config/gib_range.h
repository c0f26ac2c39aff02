#pragma once

#include <string_view>

#include "common/config/problems.h"

namespace hearth {

// Sizes of memory are options in GiB; the bound keeps their bytes within 64 bits and tells a mistyped unit.
inline void RequireGib(Problems& problems, std::string_view flag, double gib) {
  problems.Require(gib >= 0 && gib <= 65536, flag, gib, "GiB from 0 to 65536");
}

}  // namespace hearth
