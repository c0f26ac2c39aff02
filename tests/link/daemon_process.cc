#include "tests/link/daemon_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "common/base/check.h"

extern char** environ;

namespace hearth::testing {

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int error = ::posix_spawn(&pid_, argv[0], nullptr, nullptr, argv.data(), environ);
  HEARTH_CHECK(error == 0, "cannot start " + command[0]);
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  Signal(SIGCONT);
  Kill();
}

void ChildProcess::Signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

int ChildProcess::Wait() {
  if (pid_ <= 0) return outcome_;
  int status = 0;
  HEARTH_CHECK(::waitpid(pid_, &status, 0) == pid_, "waitpid");
  pid_ = -1;
  outcome_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome_;
}

HomeFolder::HomeFolder() {
  char name[] = "/dev/shm/hearth-test.XXXXXX";
  HEARTH_CHECK(::mkdtemp(name) != nullptr, "cannot make a folder in /dev/shm");
  path_ = name;
}

HomeFolder::~HomeFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> HomeFolder::LinkFiles() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("hearth-link-")) names.push_back(name);
  }
  return names;
}

std::vector<std::string> DaemonCommand(const HomeFolder& folder) {
  return {HEARTH_BIN_DIR "/hearth-cpu-tier",
          "--grpc-listen",
          folder.socket(),
          "--metrics-port",
          "0",
          "--log-level",
          "warning"};
}

}  // namespace hearth::testing
