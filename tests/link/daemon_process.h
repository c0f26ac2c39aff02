#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace hearth::testing {

// A child process of a test, killed at the end if it still runs.
class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void Signal(int signal) const;
  pid_t pid() const { return pid_; }
  // Exit code, or minus the signal that ended it.
  int Wait();
  void Kill() {
    Signal(SIGKILL);
    Wait();
  }

 private:
  pid_t pid_ = -1;
  int outcome_ = 0;
};

// A folder on tmpfs with a home in it; removed at the end.
class HomeFolder {
 public:
  HomeFolder();
  ~HomeFolder();
  const std::string& path() const { return path_; }
  std::string home() const { return path_ + "/home"; }
  std::string socket() const { return "unix:" + path_ + "/tier.sock"; }
  std::vector<std::string> LinkFiles() const;

 private:
  std::string path_;
};

// hearth-cpu-tier on the folder's socket.
std::vector<std::string> DaemonCommand(const HomeFolder& folder);

}  // namespace hearth::testing
