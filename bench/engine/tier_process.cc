#include "bench/engine/tier_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>
#include <thread>

#include "common/base/startup_error.h"
#include "common/base/status.h"

extern char** environ;

namespace hearth {
namespace {

using namespace std::chrono_literals;

// A daemon ends within milliseconds; one that is stopped or hangs keeps the report waiting no longer than this.
constexpr auto kGrace = 3s;

}  // namespace

TierProcess::TierProcess(const std::string& binary, const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>(binary.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  if (const int error = ::posix_spawn(&pid_, binary.c_str(), nullptr, nullptr, argv.data(), environ); error != 0) {
    throw StartupError(StrCat("--tier-binary: ", binary, ": ", std::strerror(error)));
  }
}

TierProcess::~TierProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  if (!EndedWithin(kGrace)) Kill();
}

void TierProcess::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  EndedWithin(kGrace);
  pid_ = -1;
}

bool TierProcess::EndedWithin(std::chrono::milliseconds limit) {
  constexpr auto kNap = 5ms;
  for (auto left = limit; ::waitpid(pid_, nullptr, WNOHANG) == 0; left -= kNap) {
    if (left <= 0ms) return false;
    std::this_thread::sleep_for(kNap);
  }
  return true;
}

}  // namespace hearth
