#include "tools/doctor/host_facts.h"

#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "common/base/listen_socket.h"
#include "common/base/startup_error.h"
#include "common/base/status.h"
#include "gpu_worker/loader/host_memory.h"
#include "tools/doctor/gpu_report.h"

namespace hearth::doctor {
namespace {

namespace fs = std::filesystem;

constexpr long kTmpfs = 0x01021994, kHugetlbfs = 0x958458f6;  // statfs(2)

std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// What the shell command prints; absent when it does not exit with 0.
std::optional<std::string> RunCommand(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  char block[4096];
  while (const size_t got = std::fread(block, 1, sizeof block, pipe)) text.append(block, got);
  if (::pclose(pipe) != 0) return std::nullopt;
  return text;
}

FolderFacts ReadFolder(const std::string& path) {
  FolderFacts facts;
  std::error_code error;
  facts.exists = fs::is_directory(path, error);
  facts.empty = !facts.exists || fs::is_empty(path, error);
  facts.writable = facts.exists && ::access(path.c_str(), W_OK | X_OK) == 0;
  fs::path place = fs::absolute(path, error);
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  struct statvfs space {};
  if (::statvfs(place.c_str(), &space) == 0) facts.free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
  struct statfs kind {};
  if (::statfs(place.c_str(), &kind) == 0) facts.in_memory = kind.f_type == kTmpfs || kind.f_type == kHugetlbfs;
  return facts;
}

std::optional<std::set<std::string>> CpuFlags(const std::optional<std::string>& cpuinfo) {
  if (!cpuinfo) return std::nullopt;
  std::istringstream lines(*cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return std::set<std::string>(std::istream_iterator<std::string>(words), {});
  }
  return std::nullopt;
}

// "Max locked memory         8388608              8388608              bytes"
std::optional<uint64_t> MemlockLimit(const std::optional<std::string>& limits) {
  constexpr std::string_view kRow = "Max locked memory";
  if (!limits) return std::nullopt;
  const size_t at = limits->find(kRow);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream words(limits->substr(at + kRow.size()));
  uint64_t soft = 0;
  if (words >> soft) return soft;
  return std::nullopt;  // "unlimited"
}

// As one word of a shell's line, whatever is in it.
std::string ShellWord(const std::string& text) {
  std::string word = "'";
  for (char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::optional<std::string> PortProblem(const std::string& host, int port) {
  try {
    ListenTcp(host, port, "--port");
    return std::nullopt;
  } catch (const StartupError& error) {
    return error.what();
  }
}

}  // namespace

HostFacts ReadHostFacts(const FactQuery& query, const std::string& root) {
  const auto read = [&](const std::string& path) { return ReadText(root + path); };
  HostFacts facts;
  const auto listing = RunCommand(StrCat("timeout 20 ", ShellWord(query.nvidia_smi), " ", kGpuQuery, " 2>/dev/null"));
  if (!listing) {
    facts.gpu_problem = StrCat(query.nvidia_smi, " is not there or failed");
  } else if (auto gpus = ParseGpuReport(*listing); gpus.ok()) {
    facts.gpus = *std::move(gpus);
  } else {
    facts.gpu_problem = gpus.status().message();
  }
  if (const auto module = read("/proc/driver/nvidia/version")) facts.driver_module = ParseDriverModule(*module);
  // The worker takes the lesser of both; here each is told by itself, since they have different remedies.
  facts.ram_available = AvailableMemory([&](const std::string& path) -> std::optional<std::string> {
    return path == "/proc/self/cgroup" ? std::nullopt : read(path);
  });
  facts.cgroup_available = AvailableMemory([&](const std::string& path) -> std::optional<std::string> {
    return path == "/proc/meminfo" ? std::nullopt : read(path);
  });
  facts.cpu_flags = CpuFlags(read("/proc/cpuinfo"));
  facts.memlock_limit = MemlockLimit(read("/proc/self/limits"));
  facts.model = ReadFolder(query.model_dir);
  facts.home = ReadFolder(query.home_dir);
  if (query.port) facts.port_problem = PortProblem(query.host, *query.port);
  return facts;
}

}  // namespace hearth::doctor
