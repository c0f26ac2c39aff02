#include "common/config/help_text.h"

#include "common/base/status.h"
#include "common/base/version.h"

namespace hearth {
namespace {

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : separator).append(part);
  return text;
}

std::string Usage(const Option& option) {
  const std::string names = Join(option.FlagSpellings(), ", ");
  return option.takes_value == TakesValue::kOptional ? names : names + " " + option.placeholder;
}

// Vertical bars would end the cell.
std::string Cell(const std::string& text) {
  std::string cell;
  for (char c : text) cell += c == '|' ? "\\|" : std::string(1, c);
  return cell;
}

std::string DefaultText(const Option& option) {
  const std::string text = option.PrintMasked();
  return text.empty() ? "empty" : text;
}

}  // namespace

std::string HelpText(std::string_view program, const OptionTable& defaults) {
  std::string text = StrCat("Usage: ", program, " [--flag VALUE | --flag=VALUE]...\n",
                            "A flag beats its environment variable, which beats the default; the last flag wins.\n\n");
  for (const Option& option : defaults.options()) {
    text += StrCat("  ", Usage(option), "\n      ", option.spec.help, "\n      default ", DefaultText(option),
                   "; environment ", Join(option.EnvironmentNames(), ", "), "\n");
  }
  text +=
      "  --help                    print this and exit\n"
      "  --version                 print the version and exit\n"
      "  --print-flags             print each flag and whether it takes a value, and exit\n"
      "  --print-config-markdown   print the options as a Markdown table and exit\n";
  return text;
}

std::string FlagsText(const OptionTable& table) {
  std::string text;
  for (const Option& option : table.options()) {
    const char* takes = option.takes_value == TakesValue::kOptional ? " opt\n" : " 1\n";
    for (const std::string& spelling : option.FlagSpellings()) text += spelling + takes;
  }
  return text;
}

std::string ConfigMarkdown(const OptionTable& defaults) {
  std::string text = "| flag | value | default | environment | meaning |\n|---|---|---|---|---|\n";
  for (const Option& option : defaults.options()) {
    text += StrCat("| `", Join(option.FlagSpellings(), "`, `"), "` | ", Cell(option.expected), " | `",
                   Cell(DefaultText(option)), "` | `", Join(option.EnvironmentNames(), "`, `"), "` | ",
                   Cell(option.spec.help), " |\n");
  }
  return text;
}

std::optional<std::string> PrintRequest(const CommandLine& line, const OptionTable& defaults) {
  for (const std::string& arg : line.args) {
    if (arg == "--help") return HelpText(line.program, defaults);
    if (arg == "--version") return StrCat(line.program, " ", Version(), "\n");
    if (arg == "--print-flags") return FlagsText(defaults);
    if (arg == "--print-config-markdown") return ConfigMarkdown(defaults);
  }
  return std::nullopt;
}

}  // namespace hearth
