#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/option_table.h"
#include "common/config/problems.h"

namespace hearth {

// What a process was started with.
struct CommandLine {
  std::string program;            // name for help texts, without folders
  std::vector<std::string> args;  // without the program
  std::map<std::string, std::string> environment;

  static CommandLine FromProcess(int argc, const char* const* argv);
};

// Names of HEARTH_ variables that belong to other processes or to scripts. Once told, ApplyCommandLine() refuses every
// other HEARTH_ variable that the table does not know; before, it cannot tell a typing error from a neighbour's
// variable and lets them be. Call it from main, before LoadConfig.
void RegisterForeignEnvironment(std::vector<std::string> names);

// Sets the table's fields: flag over environment over what they hold. Flags are "--flag value" or "--flag=value", the
// last one wins; a bool flag takes the next word only if that reads as a bool. A variable that is empty counts as not
// set. Every mistake lands in `problems`.
void ApplyCommandLine(const CommandLine& line, const OptionTable& table, Problems& problems);

}  // namespace hearth
