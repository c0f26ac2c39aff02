#pragma once

#include <string>

namespace hearth {

// Prints place, condition and detail to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace hearth

// An invariant of our own code. A failure is a bug: the process aborts and its supervisor restarts it. Bad input and
// bad surroundings never end here.
#define HEARTH_CHECK(condition, detail)                                                  \
  do {                                                                                   \
    if (!(condition)) ::hearth::CheckFailed(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
