#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace hearth::home_tool {

// One expert home as it lies in a folder.
struct HomeFile {
  std::string path;
  uint64_t bytes = 0;
  std::string fingerprint;  // "" when the file is no home that can be read
  uint32_t layers = 0, experts = 0;
  bool in_use = false;  // a worker holds its lock
  std::string problem;  // why it cannot be used, "" when it can: not complete, damaged header, ..
};

// Whether a file's name, without folders, is that of a home.
bool IsHomeName(const std::string& name);

// Reads the header only.
HomeFile ReadHome(const std::string& path);

// The homes of a folder and of those that scripts/serve.sh makes in it, by name. Reads headers only.
std::vector<HomeFile> ListHomes(const std::string& dir);

struct Verified {
  uint64_t records = 0;
  std::vector<std::string> damaged;  // "expert 3 of layer 5", at most 20 of them
};
// Recomputes the checksum of every record.
Result<Verified> VerifyHome(const std::string& path);

// Removes a home and its lock file. FAILED_PRECONDITION when a worker uses it, unless forced; its memory is then free
// once that worker ends.
Status DropHome(const HomeFile& home, bool force);

}  // namespace hearth::home_tool
