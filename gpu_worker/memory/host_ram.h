#pragma once

#include <cstdint>
#include <string>

namespace hearth {

// Bytes of RAM this process may come to use: the machine's, or what its cgroup (v2, else v1) and those above allow.
// Files are read below `root`, which is "/" outside tests. 0 when nothing can be read.
uint64_t UsableRamBytes(const std::string& root = "/");

// "" when `needed` fits; else the words of the refusal.
std::string RamProblem(uint64_t needed, uint64_t usable, uint64_t home_bytes, uint64_t device_bytes);

}  // namespace hearth
