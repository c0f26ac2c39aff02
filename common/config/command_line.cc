#include "common/config/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "common/base/status.h"

namespace hearth {
namespace {

struct GivenValue {
  std::string text;
  std::string source;
};
using GivenValues = std::map<const Option*, GivenValue>;

bool IsBoolWord(std::string_view text) {
  bool ignored = false;
  return ReadOption(text, ignored);
}

void CollectEnvironment(const CommandLine& line, const OptionTable& table, GivenValues& given) {
  for (const Option& option : table.options()) {
    for (const std::string& name : option.EnvironmentNames()) {
      const auto found = line.environment.find(name);
      if (found == line.environment.end() || found->second.empty()) continue;
      given[&option] = {found->second, name};
      break;
    }
  }
}

void CollectFlags(const CommandLine& line, const OptionTable& table, GivenValues& given, Problems& problems) {
  for (size_t i = 0; i < line.args.size(); ++i) {
    const std::string& arg = line.args[i];
    if (!arg.starts_with('-') || arg.size() < 2) {
      problems.AddLine(StrCat("\"", arg, "\" (argument ", i + 1, "): expected a flag; --help lists them"));
      continue;
    }
    const size_t equals = arg.find('=');
    const std::string spelling = arg.substr(0, equals);
    const Option* option = table.FindFlag(spelling);
    if (option == nullptr) {
      const std::string nearest = table.NearestFlag(spelling);
      problems.AddLine(StrCat(spelling, " (flag): no such flag",
                              nearest.empty() ? "; --help lists them" : StrCat("; did you mean ", nearest, "?")));
      // The word after an unknown flag is most likely its value; a second complaint about it would not help.
      if (equals == std::string::npos && i + 1 < line.args.size() && !line.args[i + 1].starts_with('-')) ++i;
      continue;
    }
    const bool has_next = i + 1 < line.args.size();
    if (equals != std::string::npos) {
      given[option] = {arg.substr(equals + 1), "flag"};
    } else if (option->takes_value == TakesValue::kOptional) {
      const bool takes_next = has_next && IsBoolWord(line.args[i + 1]);
      given[option] = {takes_next ? line.args[++i] : "true", "flag"};
    } else if (!has_next || table.FindFlag(line.args[i + 1].substr(0, line.args[i + 1].find('='))) != nullptr) {
      problems.AddLine(StrCat(spelling, " (flag): needs a value: ", option->expected));
    } else {
      given[option] = {line.args[++i], "flag"};
    }
  }
}

}  // namespace

CommandLine CommandLine::FromProcess(int argc, const char* const* argv) {
  CommandLine line;
  if (argc > 0) line.program = std::string(argv[0]).substr(std::string(argv[0]).rfind('/') + 1);
  for (int i = 1; i < argc; ++i) line.args.emplace_back(argv[i]);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (const size_t equals = text.find('='); equals != std::string::npos) {
      line.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return line;
}

void ApplyCommandLine(const CommandLine& line, const OptionTable& table, Problems& problems) {
  GivenValues given;
  CollectEnvironment(line, table, given);
  CollectFlags(line, table, given, problems);
  for (const Option& option : table.options()) {
    const auto found = given.find(&option);
    if (found == given.end()) continue;
    const GivenValue& value = found->second;
    problems.NoteSource(option.spec.flag, value.source, option.spec.secret ? "***" : value.text);
    if (option.spec.secret && value.text.empty()) {
      // A variable that a script forgot to set must not open the server.
      problems.Add(option.spec.flag, value.text, "a value; leave the flag out for none");
    } else if (!option.read(value.text)) {
      problems.Add(option.spec.flag, value.text, option.expected);
    }
  }
}

}  // namespace hearth
