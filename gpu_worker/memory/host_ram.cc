#include "gpu_worker/memory/host_ram.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "common/base/byte_size.h"
#include "common/base/status.h"

namespace hearth {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

uint64_t MachineRam(const std::string& root) {
  std::ifstream file(root + "proc/meminfo");
  std::string name;
  uint64_t kib = 0;
  std::string unit;
  while (file >> name >> kib) {
    std::getline(file, unit);
    if (name == "MemTotal:") return kib * kKiB;
  }
  return kNoLimit;
}

uint64_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  uint64_t limit = 0;
  // "max", or no such file, is no limit.
  return file >> limit ? limit : kNoLimit;
}

// The tightest limit of a group and its parents.
uint64_t TightestLimit(const std::string& base, std::string group, const std::string& name) {
  uint64_t least = kNoLimit;
  while (true) {
    least = std::min(least, ReadLimit(base + group + "/" + name));
    const size_t slash = group.rfind('/');
    if (group.empty() || slash == std::string::npos) return least;
    group.resize(slash);
  }
}

uint64_t CgroupLimit(const std::string& root) {
  std::ifstream file(root + "proc/self/cgroup");
  std::string line;
  uint64_t least = kNoLimit;
  while (std::getline(file, line)) {
    std::istringstream parts(line);
    std::string id, controllers, group;
    std::getline(parts, id, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, group);
    if (group == "/") group.clear();
    if (controllers.empty()) {
      least = std::min(least, TightestLimit(root + "sys/fs/cgroup", group, "memory.max"));
    } else if (controllers.find("memory") != std::string::npos) {
      least = std::min(least, TightestLimit(root + "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace

uint64_t UsableRamBytes(const std::string& root) {
  const uint64_t usable = std::min(MachineRam(root), CgroupLimit(root));
  return usable == kNoLimit ? 0 : usable;
}

std::string RamProblem(uint64_t needed, uint64_t usable, uint64_t home_bytes, uint64_t device_bytes) {
  if (usable == 0 || needed <= usable) return "";
  return StrCat("host RAM: need ", FormatBytes(needed), " (expert home ", FormatBytes(home_bytes),
                ", emulated device memory ", FormatBytes(device_bytes), "), have ", FormatBytes(usable),
                "; lower --vram-gb or --ec-max-slots, or give --assume-ram-gb if the machine's memory grows");
}

}  // namespace hearth
