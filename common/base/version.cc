#include "common/base/version.h"

namespace hearth {

const char* Version() { return HEARTH_VERSION; }

}  // namespace hearth
