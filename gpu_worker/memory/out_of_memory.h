#pragma once

namespace hearth {

// From now on a std::bad_alloc that nobody catches, as of a device buffer that has no room to grow on the thread of the
// steps, ends the process like a fatal CUDA error: one line that says what would help, and code 70, so that the
// supervisor starts a new one.
void EndOnOutOfMemory();

}  // namespace hearth
