#pragma once

#include <sys/wait.h>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace hearth::testing {

// The interpreter that has numpy: the distribution's own.
inline constexpr char kPython[] = "/usr/bin/python3";

// Output of a command and whether it exited with 0.
inline bool RunCommand(const std::string& command, std::string* output) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return false;
  char buffer[4096];
  for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output->append(buffer, got);
  return ::pclose(pipe) == 0;
}

// "" when tests that need Python with numpy can run, the reason to skip them otherwise.
inline std::string PythonMissing() {
  std::string output;
  return RunCommand(std::string(kPython) + " -c 'import numpy'", &output) ? "" : "no python3 with numpy: " + output;
}

// Writes a checkpoint of make_checkpoint.py into `directory`. Says what went wrong, "" when nothing did.
inline std::string MakeCheckpoint(const std::string& variant, const std::string& directory, int seed = 1) {
  std::string output;
  const bool good =
      RunCommand(std::string(kPython) + " " HEARTH_SOURCE_DIR "/tests/support/make_checkpoint.py --variant " + variant +
                     " --seed " + std::to_string(seed) + " --out " + directory,
                 &output);
  return good ? "" : "make_checkpoint.py failed: " + output;
}

}  // namespace hearth::testing
