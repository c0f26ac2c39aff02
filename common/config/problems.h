#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/option_value.h"

namespace hearth {

// Collects everything wrong with a configuration, so that all of it is reported at once.
class Problems {
 public:
  // Unless `good`: the option `flag` ("--port", dashes may be left out) has a value other than expected. The text of
  // the value that was given and its source are known here and take the place of `value`.
  template <typename T>
  void Require(bool good, std::string_view flag, const T& value, std::string_view expected) {
    if (!good) Add(flag, PrintOption(value), expected);
  }
  void Require(bool good, std::string_view flag, const char* value, std::string_view expected) {
    if (!good) Add(flag, value, expected);
  }
  void Add(std::string_view flag, std::string_view value, std::string_view expected);
  // A problem that belongs to no option's value, as a line of its own.
  void AddLine(std::string line);

  bool empty() const { return lines_.empty(); }
  size_t size() const { return lines_.size(); }
  // The one problem, or "2 problems in the configuration" and one indented line for each.
  std::string ToString() const;

  // Where a value came from: "flag", the variable's name, or "default" when never noted.
  void NoteSource(std::string_view flag, std::string source, std::string shown_value);

 private:
  struct Given {
    std::string source;
    std::string value;
  };
  std::map<std::string, Given, std::less<>> given_;
  std::vector<std::string> lines_;
};

}  // namespace hearth
