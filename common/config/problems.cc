#include "common/config/problems.h"

#include "common/base/status.h"

namespace hearth {
namespace {

std::string WithDashes(std::string_view flag) {
  return flag.starts_with('-') ? std::string(flag) : "--" + std::string(flag);
}

}  // namespace

void Problems::Add(std::string_view flag, std::string_view value, std::string_view expected) {
  const std::string name = WithDashes(flag);
  const auto found = given_.find(name);
  const bool given = found != given_.end();
  AddLine(StrCat(name, " = \"", given ? std::string_view(found->second.value) : value, "\" (",
                 given ? std::string_view(found->second.source) : "default", "): expected ", expected));
}

void Problems::AddLine(std::string line) { lines_.push_back(std::move(line)); }

std::string Problems::ToString() const {
  if (lines_.size() == 1) return lines_.front();
  std::string text = StrCat(lines_.size(), " problems in the configuration");
  for (const std::string& line : lines_) text += "\n  " + line;
  return text;
}

void Problems::NoteSource(std::string_view flag, std::string source, std::string shown_value) {
  given_[WithDashes(flag)] = {std::move(source), std::move(shown_value)};
}

}  // namespace hearth
