#include "common/metrics/process_memory.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace hearth {
namespace {

// The number of a line "KEY:\t  123 kB", in bytes.
uint64_t Field(std::string_view status, std::string_view key) {
  const size_t at = status.find(key);
  if (at == std::string_view::npos) return 0;
  const size_t digit = status.find_first_of("0123456789", at + key.size());
  uint64_t kib = 0;
  if (digit != std::string_view::npos) std::from_chars(status.data() + digit, status.data() + status.size(), kib);
  return kib * 1024;
}

}  // namespace

ProcessMemory ParseProcessMemory(std::string_view status) {
  return {.anonymous = Field(status, "\nRssAnon:"),
          .shared = Field(status, "\nRssShmem:"),
          .file = Field(status, "\nRssFile:")};
}

void AddProcessMemory(Metrics& metrics) {
  const auto gauge = [&](const char* kind) -> Gauge& {
    return metrics.AddGauge("hearth_memory_bytes",
                            "Resident memory of this process; shared memory counts in each that maps it",
                            {{"kind", kind}});
  };
  Gauge &anonymous = gauge("private"), &shared = gauge("shared"), &file = gauge("file");
  metrics.OnExpose([&] {
    std::ifstream in("/proc/self/status");
    const std::string status(std::istreambuf_iterator<char>(in), {});
    const ProcessMemory memory = ParseProcessMemory(status);
    anonymous.Set(static_cast<double>(memory.anonymous));
    shared.Set(static_cast<double>(memory.shared));
    file.Set(static_cast<double>(memory.file));
  });
}

}  // namespace hearth
