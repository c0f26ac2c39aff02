#pragma once

#include <functional>

#include "common/base/stop_signal.h"

namespace hearth {

// The frame of every main(): ignores SIGPIPE, turns SIGTERM and SIGINT into the StopSignal, runs the body and returns
// the exit code. 0: the body returned. 2: it threw StartupError, whose text is printed as "NAME: text". 3: it threw
// another exception. A second signal ends the process at once with 130.
int RunProcess(const char* name, const std::function<void(StopSignal&)>& body);

}  // namespace hearth
