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

// Sets the table's fields: flag over environment over what they hold. Flags are "--flag value" or "--flag=value", the
// last one wins; a bool flag takes the next word only if that reads as a bool. A variable that is empty counts as not
// set. A HEARTH_ variable that no option reads may be another process's, or one that Kubernetes makes for a service of that
// name, and is let be. Every mistake lands in `problems`.
void ApplyCommandLine(const CommandLine& line, const OptionTable& table, Problems& problems);

}  // namespace hearth
