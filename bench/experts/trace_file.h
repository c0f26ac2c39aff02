#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

// A trace of tools/make_routing_trace.py: a .npy file, uint16 [tokens, layers, picks], experts by id.
struct TraceFile {
  int layers = 0, picks = 0;
  int experts = 0;                           // the largest id and one more
  std::vector<std::vector<int32_t>> tokens;  // each [layers, picks]
};

// Throws std::runtime_error naming the file and what is wrong with it.
TraceFile ReadTrace(const std::string& path);

}  // namespace hearth
