#include "bench/experts/trace_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "bench/experts/policy_replay.h"

namespace hearth {
namespace {

std::string WriteTrace(const std::string& shape, const std::vector<uint16_t>& picks) {
  const std::string path = testing::TempDir() + "hearth_trace_file_test.npy";
  std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8);
  out.put(static_cast<char>(header.size())).put(0);
  out << header;
  out.write(reinterpret_cast<const char*>(picks.data()), static_cast<std::streamsize>(picks.size() * 2));
  return path;
}

TEST(TraceFile, SaysHowManyExpertsItNames) {
  const std::string path = WriteTrace("(2, 1, 2)", {3, 511, 0, 5});
  const TraceFile trace = ReadTrace(path);
  std::remove(path.c_str());
  EXPECT_EQ(trace.experts, 512);
  PolicyReplay replay({.layers = trace.layers, .experts = trace.experts, .picks = trace.picks, .slots = 4});
  for (const auto& token : trace.tokens) replay.Decode(token);
  EXPECT_EQ(replay.TakeFigures().misses, 2);
}

TEST(TraceFile, RefusesAShapeThatNoModelHas) {
  for (const char* shape : {"(1, 1025, 1)", "(1, 1, 257)", "(0, 1, 1)", "(1, 2147483647, 2147483647)"}) {
    const std::string path = WriteTrace(shape, {0});
    EXPECT_THROW(ReadTrace(path), std::runtime_error) << shape;
    std::remove(path.c_str());
  }
}

}  // namespace
}  // namespace hearth
