#include "bench/experts/trace_file.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace hearth {
namespace {

// More than any model has, and little enough that tables of layers by 65,536 experts can be had.
constexpr int kMostLayers = 1024, kMostPicks = 256;

}  // namespace

TraceFile ReadTrace(const std::string& path) {
  const auto wrong = [&](const char* what) {
    return std::runtime_error(path + ": " + what + "; make it with tools/make_routing_trace.py --out");
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) throw wrong("cannot be opened");
  // Magic, version 1.0, length of the header, then a Python dictionary as text.
  char head[10];
  if (!file.read(head, sizeof(head)) || std::memcmp(head, "\x93NUMPY\x01\x00", 8) != 0) throw wrong("no .npy file");
  std::string text(static_cast<unsigned char>(head[8]) + 256u * static_cast<unsigned char>(head[9]), ' ');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) throw wrong("ends inside its header");
  const size_t shape = text.find("'shape': (");
  long long tokens = 0;
  TraceFile trace;
  if (text.find("'<u2'") == std::string::npos || text.find("'fortran_order': False") == std::string::npos ||
      shape == std::string::npos ||
      std::sscanf(text.c_str() + shape, "'shape': (%lld, %d, %d)", &tokens, &trace.layers, &trace.picks) != 3 ||
      tokens < 1 || trace.layers < 1 || trace.layers > kMostLayers || trace.picks < 1 || trace.picks > kMostPicks) {
    throw wrong("not uint16 [tokens, 1 to 1024 layers, 1 to 256 picks]");
  }
  std::vector<uint16_t> picks(static_cast<size_t>(trace.layers) * static_cast<size_t>(trace.picks));
  for (long long token = 0; token < tokens; ++token) {
    if (!file.read(reinterpret_cast<char*>(picks.data()), static_cast<std::streamsize>(picks.size() * 2))) {
      throw wrong("shorter than its header says");
    }
    trace.tokens.emplace_back(picks.begin(), picks.end());
    trace.experts = std::max(trace.experts, 1 + *std::max_element(picks.begin(), picks.end()));
  }
  return trace;
}

}  // namespace hearth
