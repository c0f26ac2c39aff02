#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/config/command_line.h"
#include "common/config/option_table.h"

namespace hearth {

// Texts made from the list of options. The table's fields must hold the defaults.

// For --help.
std::string HelpText(std::string_view program, const OptionTable& defaults);

// For --print-flags: one line "<spelling> <takes_value>" for each accepted spelling; takes_value is 1 when the next
// word is the value, opt when it is only if it reads as a bool. A script routes flags to processes by it. The flags
// every process has (--help, --version, --print-...) are not in it.
std::string FlagsText(const OptionTable& table);

// For --print-config-markdown: a table for docs/config.md.
std::string ConfigMarkdown(const OptionTable& defaults);

// What to print instead of running, when the arguments hold --help, --version, --print-flags or
// --print-config-markdown.
std::optional<std::string> PrintRequest(const CommandLine& line, const OptionTable& defaults);

}  // namespace hearth
