#include "common/config/option_table.h"

#include <algorithm>
#include <cctype>

#include "common/base/check.h"

namespace hearth {
namespace {

std::string AutomaticEnvironmentName(const Option& option) {
  std::string name = "HEARTH_";
  for (char c : option.name()) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// A third of the letters may differ; more is another word.
std::string Nearest(std::string_view wanted, const std::vector<std::string>& known) {
  std::string nearest;
  size_t least = std::max<size_t>(2, wanted.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(wanted, candidate);
    if (distance < least) least = distance, nearest = candidate;
  }
  return nearest;
}

}  // namespace

std::string Option::PrintMasked() const {
  const std::string text = print();
  return spec.secret && !text.empty() ? "***" : text;
}

std::vector<std::string> Option::EnvironmentNames() const {
  std::vector<std::string> names = {AutomaticEnvironmentName(*this)};
  names.insert(names.end(), spec.env.begin(), spec.env.end());
  return names;
}

std::vector<std::string> Option::FlagSpellings() const {
  std::vector<std::string> spellings = {spec.flag};
  spellings.insert(spellings.end(), spec.aliases.begin(), spec.aliases.end());
  return spellings;
}

void OptionTable::Add(Option option) {
  HEARTH_CHECK(option.spec.flag.starts_with("--") && option.spec.flag.size() > 2, option.spec.flag);
  for (const std::string& spelling : option.FlagSpellings()) {
    HEARTH_CHECK(spelling.starts_with('-') && spelling.find('=') == std::string::npos, spelling);
    HEARTH_CHECK(FindFlag(spelling) == nullptr, "two options are spelled " + spelling);
  }
  for (const std::string& variable : option.EnvironmentNames()) {
    HEARTH_CHECK(FindEnvironment(variable) == nullptr, "two options read " + variable);
  }
  if (!option.spec.allowed.empty()) {
    // The list of words takes the place of the type's own check.
    const std::vector<std::string> allowed = option.spec.allowed;
    std::string words;
    for (size_t i = 0; i < allowed.size(); ++i) {
      words += (i == 0 ? "" : i + 1 == allowed.size() ? " or " : ", ") + allowed[i];
      option.placeholder = (i == 0 ? "" : option.placeholder + "|") + allowed[i];
    }
    option.expected = words;
    option.read = [allowed, read = std::move(option.read)](std::string_view text) {
      return std::find(allowed.begin(), allowed.end(), text) != allowed.end() && read(text);
    };
  }
  options_.push_back(std::move(option));
}

const Option* OptionTable::FindFlag(std::string_view spelling) const {
  for (const Option& option : options_) {
    if (option.spec.flag == spelling) return &option;
    if (std::find(option.spec.aliases.begin(), option.spec.aliases.end(), spelling) != option.spec.aliases.end()) {
      return &option;
    }
  }
  return nullptr;
}

const Option* OptionTable::FindEnvironment(std::string_view variable) const {
  for (const Option& option : options_) {
    const std::vector<std::string> names = option.EnvironmentNames();
    if (std::find(names.begin(), names.end(), variable) != names.end()) return &option;
  }
  return nullptr;
}

std::string OptionTable::NearestFlag(std::string_view spelling) const {
  std::vector<std::string> known;
  for (const Option& option : options_) {
    for (std::string& flag : option.FlagSpellings()) known.push_back(std::move(flag));
  }
  return Nearest(spelling, known);
}

size_t EditDistance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the swap looks two rows back.
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace hearth
