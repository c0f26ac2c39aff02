#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "common/base/process.h"
#include "common/base/startup_error.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "tools/home/home_commands.h"

namespace {

constexpr const char* kHelp = R"(hearth-home: expert homes in shared memory
  hearth-home [--home-dir DIR] list
  hearth-home [--home-dir DIR] verify [NAME ..]            recomputes every checksum
  hearth-home [--home-dir DIR] drop [--force] NAME .. | --all

NAME is a fingerprint or the beginning of one, of a home in DIR, or a path: what has a slash, in any folder. DIR is
/run/hearth when it can be written, else /dev/shm; a worker adopts a home that it finds there.
Exit codes: 0 fine, 1 a home is damaged or in use, 2 a wrong command line.
)";

struct Arguments {
  std::string dir = ::access("/run/hearth", W_OK | X_OK) == 0 ? "/run/hearth" : "/dev/shm";
  std::string command;
  std::vector<std::string> names;
  bool force = false, all = false;
};

Arguments Parse(int argc, char** argv) {
  Arguments args;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--home-dir" && i + 1 < argc) {
      args.dir = argv[++i];
    } else if (word.starts_with("--home-dir=")) {
      args.dir = word.substr(std::strlen("--home-dir="));
    } else if (word == "--force") {
      args.force = true;
    } else if (word == "--all") {
      args.all = true;
    } else if (word.starts_with("-")) {
      throw hearth::StartupError(word + " is no flag of it; see --help");
    } else if (args.command.empty()) {
      args.command = word;
    } else {
      args.names.push_back(word);
    }
  }
  return args;
}

int Run(const Arguments& args) {
  using namespace hearth::home_tool;
  if ((args.force || args.all) && args.command != "drop")
    throw hearth::StartupError("--force and --all belong to drop");
  // A folder that cannot be read is not one without homes. Paths ask for none.
  const bool only_paths = !args.names.empty() && std::all_of(args.names.begin(), args.names.end(), IsPath);
  std::error_code error;
  if (!only_paths) std::filesystem::directory_iterator(args.dir, error);
  if (error) throw hearth::StartupError("--home-dir \"" + args.dir + "\": " + error.message());
  if (args.command == "list" && args.names.empty()) return List(args.dir, std::cout);
  if (args.command == "verify") return Verify(args.dir, args.names, std::cout);
  if (args.command == "drop") {
    if (args.names.empty() != args.all) throw hearth::StartupError("drop needs either names or --all; see --help");
    return Drop(args.dir, args.names, args.force, std::cout);
  }
  throw hearth::StartupError(args.command.empty() ? "a command is missing; see --help"
                                                  : "\"" + args.command + "\" is no command of it; see --help");
}

}  // namespace

int main(int argc, char** argv) {
  int code = 0;
  const int problem = hearth::RunProcess("hearth-home", [&](hearth::StopSignal&) {
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
        std::fputs(kHelp, stdout);
        return;
      }
      if (std::strcmp(argv[i], "--version") == 0) {
        std::printf("hearth-home %s\n", hearth::Version());
        return;
      }
    }
    code = Run(Parse(argc, argv));
    std::cout.flush();
  });
  return problem != 0 ? problem : code;
}
