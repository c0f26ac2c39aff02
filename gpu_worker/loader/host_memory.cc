#include "gpu_worker/loader/host_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "common/base/byte_size.h"
#include "common/base/status.h"

namespace hearth {
namespace {

// Anything above is how cgroups spell "no limit".
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

std::optional<uint64_t> Number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  uint64_t value = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), value);
  if (parsed.ec != std::errc() || value >= kNoLimit) return std::nullopt;
  return value;
}

// The number behind `key` in lines of "key 123" or "key: 123 kB".
std::optional<uint64_t> Field(const std::optional<std::string>& text, const std::string& key) {
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  for (std::string name, value; in >> name >> value; in.ignore(4096, '\n')) {
    if (name == key) return Number(value);
  }
  return std::nullopt;
}

struct CgroupFiles {
  std::string mount;
  const char *limit, *usage, *inactive_cache, *active_cache;
};

void LimitBy(const TextReader& read, const CgroupFiles& files, std::string path, std::optional<uint64_t>* available) {
  for (;;) {
    const std::string directory = StrCat(files.mount, path == "/" ? "" : path, "/");
    const auto limit = Number(read(directory + files.limit));
    const auto usage = Number(read(directory + files.usage));
    if (limit && usage) {
      // Cache that was read twice is active, and is dropped all the same. Files of a tmpfs count in neither.
      const auto stat = read(directory + "memory.stat");
      const uint64_t cache =
          Field(stat, files.inactive_cache).value_or(0) + Field(stat, files.active_cache).value_or(0);
      const uint64_t used = *usage - std::min(*usage, cache);
      const uint64_t left = *limit - std::min(*limit, used);
      *available = std::min(available->value_or(left), left);
    }
    if (path.empty() || path == "/") return;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

std::optional<uint64_t> AvailableMemory(const TextReader& read) {
  std::optional<uint64_t> available;
  if (const auto kib = Field(read("/proc/meminfo"), "MemAvailable:")) available = *kib * 1024;
  // Lines are "ID:CONTROLLERS:PATH"; version 2 has ID 0 and no controllers.
  std::istringstream groups(read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = StrCat(",", line.substr(first + 1, second - first - 1), ",");
    const std::string path = line.substr(second + 1);
    if (line.starts_with("0::")) {
      LimitBy(read, {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file"}, path,
              &available);
    } else if (controllers.find(",memory,") != std::string::npos) {
      LimitBy(read,
              {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
               "total_active_file"},
              path, &available);
    }
  }
  return available;
}

std::optional<uint64_t> AvailableMemory() {
  return AvailableMemory([](const std::string& path) -> std::optional<std::string> {
    std::ifstream in(path);
    if (!in) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(in), {});
  });
}

std::string MemoryProblem(uint64_t weights, uint64_t home, uint64_t available) {
  if (weights <= available && home <= available - weights) return "";
  return StrCat(
      "not enough memory: the weights need ", FormatBytes(weights), " and the expert home ", FormatBytes(home),
      ", together ", FormatBytes(weights + home), ", but only ", FormatBytes(available),
      " are available to this process; raise its memory limit, or say how much there is with --assume-ram-gb");
}

}  // namespace hearth
