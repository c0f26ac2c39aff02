#pragma once

#include <stdexcept>
#include <string>

namespace hearth {

// The surroundings are not what a process needs to come up: option, file, memory, port, peer. The text says what was
// found, what was expected and what to change, in one line. Caught once, by RunProcess, which exits with code 2.
class StartupError : public std::runtime_error {
 public:
  explicit StartupError(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace hearth
