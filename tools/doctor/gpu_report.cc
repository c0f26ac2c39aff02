#include "tools/doctor/gpu_report.h"

#include <charconv>
#include <cstdlib>
#include <sstream>

#include "common/base/byte_size.h"

namespace hearth::doctor {
namespace {

std::string Trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, separator);) parts.push_back(Trim(part));
  return parts;
}

}  // namespace

bool IsVersion(std::string_view text) {
  char before = '.';
  for (const char c : text) {
    if (c != '.' && (c < '0' || c > '9')) return false;
    if (c == '.' && before == '.') return false;
    before = c;
  }
  return before != '.';
}

Result<std::vector<GpuFacts>> ParseGpuReport(std::string_view text) {
  std::vector<GpuFacts> gpus;
  for (const std::string& line : Split(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = Split(line, ',');
    GpuFacts gpu;
    uint64_t mib = 0;
    if (fields.size() < 3 ||
        std::from_chars(fields[1].data(), fields[1].data() + fields[1].size(), mib).ec != std::errc() ||
        !IsVersion(fields[2])) {
      return FailedPrecondition("nvidia-smi says \"", line, "\"");
    }
    gpu.name = fields[0];
    gpu.memory_bytes = mib * kMiB;
    gpu.driver = fields[2];
    // Old drivers do not know the field and say so in its place.
    if (fields.size() > 3 && IsVersion(fields[3])) gpu.compute = std::strtod(fields[3].c_str(), nullptr);
    gpus.push_back(std::move(gpu));
  }
  if (gpus.empty()) return FailedPrecondition("nvidia-smi lists no GPU");
  return gpus;
}

std::string ParseDriverModule(std::string_view text) {
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (IsVersion(word) && word.find('.') != std::string::npos) return word;
  }
  return "";
}

bool VersionLess(std::string_view a, std::string_view b) {
  const std::vector<std::string> left = Split(a, '.'), right = Split(b, '.');
  for (size_t i = 0; i < right.size(); ++i) {
    const long x = i < left.size() ? std::atol(left[i].c_str()) : 0, y = std::atol(right[i].c_str());
    if (x != y) return x < y;
  }
  return false;
}

}  // namespace hearth::doctor
