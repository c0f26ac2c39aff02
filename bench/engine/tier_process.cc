#include "bench/engine/tier_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>

#include "common/base/startup_error.h"
#include "common/base/status.h"

extern char** environ;

namespace hearth {

TierProcess::TierProcess(const std::string& binary, const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>(binary.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  if (const int error = ::posix_spawn(&pid_, binary.c_str(), nullptr, nullptr, argv.data(), environ); error != 0) {
    throw StartupError(StrCat("--tier-binary: ", binary, ": ", std::strerror(error)));
  }
}

TierProcess::~TierProcess() { End(SIGTERM); }

void TierProcess::Kill() { End(SIGKILL); }

void TierProcess::End(int signal) {
  if (pid_ <= 0) return;
  ::kill(pid_, signal);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace hearth
