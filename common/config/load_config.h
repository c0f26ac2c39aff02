#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/base/startup_error.h"
#include "common/config/command_line.h"
#include "common/config/help_text.h"
#include "common/config/option_table.h"
#include "common/config/problems.h"

namespace hearth {

// A config is a struct of fields with their defaults and
//   template <typename Visitor> void ForEach(Visitor&& visit);   one visit(OptionSpec{...}, field) per option
//   void Validate(Problems& problems) const;                     optional: relations and ranges
// Field types are those of option_value.h.

// The config that a command line gives. Throws StartupError with every problem at once.
template <typename Config>
Config ParseConfig(const CommandLine& line) {
  Config config;
  Problems problems;
  ApplyCommandLine(line, OptionTable::Of(config), problems);
  if constexpr (requires { std::as_const(config).Validate(problems); }) std::as_const(config).Validate(problems);
  if (!problems.empty()) throw StartupError(problems.ToString());
  return config;
}

// Prints the text to stdout and exits with code 0.
[[noreturn]] void PrintAndExit(const std::string& text);

// For main(): the config of this process. With --help and its kin, prints what was asked for and exits.
template <typename Config>
Config LoadConfig(int argc, const char* const* argv) {
  const CommandLine line = CommandLine::FromProcess(argc, argv);
  Config defaults;
  if (const auto text = PrintRequest(line, OptionTable::Of(defaults)); text) PrintAndExit(*text);
  return ParseConfig<Config>(line);
}

// Name (without dashes) and effective value of every option, secrets as ***; for the log at start and /server_info.
template <typename Config>
std::vector<std::pair<std::string, std::string>> DescribeConfig(const Config& config) {
  Config copy = config;
  std::vector<std::pair<std::string, std::string>> values;
  const OptionTable table = OptionTable::Of(copy);
  for (const Option& option : table.options()) values.emplace_back(option.name(), option.PrintMasked());
  return values;
}

}  // namespace hearth
