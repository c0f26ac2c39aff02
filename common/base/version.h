#pragma once

namespace hearth {

// Version of the build, for example "0.1.0"; all binaries of a build share it.
const char* Version();

}  // namespace hearth
