#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace hearth::home_tool {

// What has a slash is a path: it is not looked for in a folder.
bool IsPath(const std::string& name);

// The commands, one line a home on `out`. They return the exit code: 0 fine, 1 a home is damaged or could not be
// dropped, 2 none answers to the name.
//   `names`: fingerprints, beginnings of them, or paths; none means all in `dir`.
int List(const std::string& dir, std::ostream& out);
int Verify(const std::string& dir, const std::vector<std::string>& names, std::ostream& out);
int Drop(const std::string& dir, const std::vector<std::string>& names, bool force, std::ostream& out);

}  // namespace hearth::home_tool
