#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace hearth {

// A hearth-cpu-tier of our own.
class TierProcess {
 public:
  // Throws StartupError when the program cannot be run.
  TierProcess(const std::string& binary, const std::vector<std::string>& arguments);
  ~TierProcess();  // SIGTERM, and SIGKILL when that does not end it within a few seconds
  TierProcess(const TierProcess&) = delete;
  TierProcess& operator=(const TierProcess&) = delete;

  int pid() const { return pid_; }
  void Kill();  // SIGKILL, as a crash would be

 private:
  bool EndedWithin(std::chrono::milliseconds limit);
  int pid_ = -1;
};

}  // namespace hearth
