#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/config/option_value.h"

namespace hearth {

// How one option is spelled. Used with designated initializers:
//   visit(OptionSpec{.flag = "--max-batch-size", .aliases = {"-b"}, .env = {"OLD_NAME"}, .help = "..."},
//   max_batch_size);
struct OptionSpec {
  std::string flag;                  // "--max-batch-size"
  std::vector<std::string> aliases;  // further spellings, with their dashes: "-ambs"
  std::vector<std::string> env;      // further variables, after the automatic HEARTH_MAX_BATCH_SIZE
  std::string help;                  // one sentence, without a full stop
  std::vector<std::string> allowed;  // the words a text option may be; empty for any text
  bool secret = false;               // printed as ***
};

enum class TakesValue { kAlways, kOptional };  // optional: a bool flag alone means true

// An option bound to a field of a config struct.
struct Option {
  OptionSpec spec;
  std::string expected;     // "a whole number from 0 to 4294967295"
  std::string placeholder;  // "N"
  TakesValue takes_value = TakesValue::kAlways;
  std::function<bool(std::string_view)> read;  // sets the field; false for text that is not a value
  std::function<std::string()> print;          // value of the field, secrets in clear

  std::string name() const { return spec.flag.substr(2); }
  std::string PrintMasked() const;
  // All variables, the first that is set and not empty counts.
  std::vector<std::string> EnvironmentNames() const;
  std::vector<std::string> FlagSpellings() const;
};

// The list of a config struct's options, in the order of its ForEach. Bound to the struct, which must outlive it. Two
// options with one spelling are a bug.
class OptionTable {
 public:
  template <typename Config>
  static OptionTable Of(Config& config) {
    OptionTable table;
    config.ForEach(table);
    return table;
  }

  // The visitor that ForEach calls.
  template <typename T>
  void operator()(OptionSpec spec, T& field) {
    Option option{.spec = std::move(spec)};
    const ValueWords words = Words(field);
    option.expected = words.expected;
    option.placeholder = words.placeholder;
    if (std::is_same_v<T, bool>) option.takes_value = TakesValue::kOptional;
    option.read = [&field](std::string_view text) { return ReadOption(text, field); };
    option.print = [&field] { return PrintOption(field); };
    Add(std::move(option));
  }

  const std::vector<Option>& options() const { return options_; }
  const Option* FindFlag(std::string_view spelling) const;
  const Option* FindEnvironment(std::string_view variable) const;
  // The known flag most like the given one; "" when none is near.
  std::string NearestFlag(std::string_view spelling) const;

 private:
  void Add(Option option);
  std::vector<Option> options_;
};

// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace hearth
