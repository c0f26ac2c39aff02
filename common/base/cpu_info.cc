#include "common/base/cpu_info.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

#include "common/base/status.h"

namespace hearth {
namespace {

constexpr int kMaxCpu = 1 << 16;

std::optional<std::string> ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

// "/proc/self/cgroup" has one line per hierarchy: "id:controllers:path". v2 has no controllers.
std::string CgroupPath(const std::string& root, bool v2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = StrCat(",", line.substr(first + 1, second - first - 1), ",");
    if (v2 ? controllers == ",," : controllers.find(",cpu,") != std::string::npos) return line.substr(second + 1);
  }
  return "/";
}

// Quota of one directory in CPUs; 0 when it sets none.
double QuotaV2(const std::string& directory) {
  const std::optional<std::string> line = ReadLine(directory + "/cpu.max");
  if (!line) return 0;
  std::istringstream words(*line);
  double quota = 0, period = 0;
  return words >> quota >> period && quota > 0 && period > 0 ? quota / period : 0;
}

double QuotaV1(const std::string& directory) {
  const std::optional<std::string> quota = ReadLine(directory + "/cpu.cfs_quota_us");
  const std::optional<std::string> period = ReadLine(directory + "/cpu.cfs_period_us");
  if (!quota || !period) return 0;
  std::istringstream words(*quota + " " + *period);
  double quota_us = 0, period_us = 0;
  return words >> quota_us >> period_us && quota_us > 0 && period_us > 0 ? quota_us / period_us : 0;
}

// The tightest quota from `path` up to the mount. In a container the path may lie outside what is mounted; then only
// the levels that exist count.
double Tightest(const std::string& mount, std::string path, double (*quota)(const std::string&)) {
  double tightest = 0;
  for (;;) {
    const double here = quota(mount + path);
    if (here > 0 && (tightest == 0 || here < tightest)) tightest = here;
    if (path.empty() || path == "/") return tightest;
    path.resize(std::min(path.size(), path.rfind('/')));
  }
}

// The CPUs of one core, `cpu` among them.
std::vector<int> Siblings(const std::string& base, int cpu) {
  const std::string topology = StrCat(base, "/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list");
  std::vector<int> siblings = ParseCpuList(ReadLine(topology).value_or(""));
  if (std::find(siblings.begin(), siblings.end(), cpu) == siblings.end()) siblings.push_back(cpu);
  return siblings;
}

}  // namespace

std::vector<int> AllowedCpus() {
  // The kernel refuses a mask smaller than its own, whose size no header tells.
  for (int capacity = 1024; capacity <= kMaxCpu; capacity *= 2) {
    cpu_set_t* mask = CPU_ALLOC(static_cast<size_t>(capacity));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    const bool known = ::sched_getaffinity(0, bytes, mask) == 0;
    std::vector<int> cpus;
    for (int cpu = 0; known && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, mask)) cpus.push_back(cpu);
    }
    CPU_FREE(mask);
    if (!cpus.empty()) return cpus;
  }
  return {0};
}

double CgroupCpuQuota(const std::string& root) {
  const std::string base = root == "/" ? "" : root;
  if (std::ifstream(base + "/sys/fs/cgroup/cgroup.controllers").good()) {
    return Tightest(base + "/sys/fs/cgroup", CgroupPath(base, true), QuotaV2);
  }
  const double combined = Tightest(base + "/sys/fs/cgroup/cpu,cpuacct", CgroupPath(base, false), QuotaV1);
  return combined > 0 ? combined : Tightest(base + "/sys/fs/cgroup/cpu", CgroupPath(base, false), QuotaV1);
}

int UsableCpuCount(const std::string& root) {
  const int allowed = static_cast<int>(AllowedCpus().size());
  const double quota = CgroupCpuQuota(root);
  return quota > 0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, allowed) : allowed;
}

std::vector<int> PhysicalCores(const std::vector<int>& cpus, const std::string& root) {
  const std::string base = root == "/" ? "" : root;
  std::set<int> taken;  // CPUs that share a core with one already chosen
  std::vector<int> cores;
  std::vector<int> ascending = cpus;
  std::sort(ascending.begin(), ascending.end());
  for (int cpu : ascending) {
    if (taken.contains(cpu)) continue;
    cores.push_back(cpu);
    for (int sibling : Siblings(base, cpu)) taken.insert(sibling);
  }
  return cores;
}

int UsableCoreCount(const std::string& root) {
  return std::min(static_cast<int>(PhysicalCores(AllowedCpus(), root).size()), UsableCpuCount(root));
}

std::vector<int> FirstCores(size_t count, const std::string& root) {
  const std::string base = root == "/" ? "" : root;
  std::vector<int> online = ParseCpuList(ReadLine(base + "/sys/devices/system/cpu/online").value_or(""));
  if (online.empty()) {
    online.resize(count);
    std::iota(online.begin(), online.end(), 0);
  }
  const std::vector<int> cores = PhysicalCores(online, root);
  std::vector<int> cpus;
  for (size_t i = 0; i < std::min(count, cores.size()); ++i) {
    for (int sibling : Siblings(base, cores[i])) cpus.push_back(sibling);
  }
  return cpus;
}

std::vector<int> ParseCpuList(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const char* const end = part.data() + part.size();
    int first = -1, last = -1;
    auto parsed = std::from_chars(part.data(), end, first);
    last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    }
    if (parsed.ec != std::errc() || parsed.ptr != end || first < 0 || last < first || last >= kMaxCpu) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace hearth
