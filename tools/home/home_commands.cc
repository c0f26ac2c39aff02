#include "tools/home/home_commands.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <utility>

#include "common/base/byte_size.h"
#include "tools/home/home_files.h"

namespace hearth::home_tool {
namespace {

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool Answers(const HomeFile& home, const std::string& name) {
  const std::string file = FileName(home.path);
  return file == name || (!home.fingerprint.empty() && home.fingerprint.starts_with(name)) ||
         file.starts_with("hearth-home-" + name);
}

// The homes that the names mean; empty, after saying so, when a name means none.
std::vector<HomeFile> Select(const std::string& dir, const std::vector<std::string>& names, std::ostream& out) {
  std::vector<HomeFile> all, chosen;
  if (!std::all_of(names.begin(), names.end(), IsPath) || names.empty()) all = ListHomes(dir);
  if (names.empty()) {
    if (all.empty()) out << "no expert home in " << dir << "\n";
    return all;
  }
  // A home that is named twice, as a name and as a path perhaps, is one home.
  std::set<std::filesystem::path> seen;
  const auto choose = [&](HomeFile home) {
    const std::filesystem::path path = home.path;
    std::error_code error;
    if (seen.insert(std::filesystem::weakly_canonical(path.parent_path(), error) / path.filename()).second) {
      chosen.push_back(std::move(home));
    }
  };
  for (const std::string& name : names) {
    if (IsPath(name)) {
      // Whatever else a path names is none of ours to drop.
      std::error_code error;
      if (!IsHomeName(FileName(name)) || !std::filesystem::exists(std::filesystem::symlink_status(name, error))) {
        out << name << ": no such home\n";
        return {};
      }
      choose(ReadHome(name));
      continue;
    }
    bool found = false;
    for (const HomeFile& home : all) {
      if (!Answers(home, name)) continue;
      choose(home);
      found = true;
    }
    if (!found) {
      out << name << ": no such home in " << dir << "\n";
      return {};
    }
  }
  return chosen;
}

}  // namespace

bool IsPath(const std::string& name) { return name.find('/') != std::string::npos; }

int List(const std::string& dir, std::ostream& out) {
  for (const HomeFile& home : Select(dir, {}, out)) {
    out << home.path << "  " << FormatBytes(home.bytes) << "  ";
    if (home.problem.empty()) {
      out << home.layers << " layers x " << home.experts << " experts  "
          << (home.in_use ? "in use" : "complete, unused");
    } else {
      out << (home.in_use ? "in use, being filled" : "not usable: " + home.problem);
    }
    out << "\n";
  }
  return 0;
}

int Verify(const std::string& dir, const std::vector<std::string>& names, std::ostream& out) {
  const std::vector<HomeFile> homes = Select(dir, names, out);
  if (homes.empty()) return names.empty() ? 0 : 2;
  int code = 0;
  for (const HomeFile& home : homes) {
    const Result<Verified> verified = VerifyHome(home.path);
    if (!verified.ok()) {
      out << home.path << ": " << verified.status().message() << "\n";
      code = 1;
    } else if (verified->damaged.empty()) {
      out << home.path << ": " << verified->records << " records, all checksums right\n";
    } else {
      out << home.path << ": DAMAGED:";
      for (const std::string& record : verified->damaged) out << " " << record << ";";
      out << " drop it, and the next start makes it anew\n";
      code = 1;
    }
  }
  return code;
}

int Drop(const std::string& dir, const std::vector<std::string>& names, bool force, std::ostream& out) {
  const std::vector<HomeFile> homes = Select(dir, names, out);
  if (homes.empty()) return names.empty() ? 0 : 2;
  int code = 0;
  for (const HomeFile& home : homes) {
    const Status status = DropHome(home, force);
    if (status.ok()) {
      out << home.path << ": dropped, " << FormatBytes(home.bytes) << "\n";
    } else {
      out << status.message() << "\n";
      code = 1;
    }
  }
  return code;
}

}  // namespace hearth::home_tool
