#pragma once

#include <cstdint>
#include <string_view>

#include "common/metrics/metrics.h"

namespace hearth {

struct ProcessMemory {
  uint64_t anonymous = 0;  // private: heap and stacks
  uint64_t shared = 0;  // shared memory that is mapped: expert home and link, counted in every process that maps them
  uint64_t file = 0;    // mapped files: the program, a checkpoint being read
};

// Resident memory from the text of /proc/PID/status; parts that are not there are 0.
ProcessMemory ParseProcessMemory(std::string_view status);

// hearth_memory_bytes{kind="private|shared|file"} of this process, read anew for every exposition.
void AddProcessMemory(Metrics& metrics);

}  // namespace hearth
