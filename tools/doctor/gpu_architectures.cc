#include "tools/doctor/gpu_architectures.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "common/base/status.h"

namespace hearth::doctor {
namespace {

struct Architecture {
  int number = 0;  // 86; 0 for a word
  bool ptx = false;
  std::string_view text;
};

std::vector<Architecture> Parse(std::string_view list) {
  std::vector<Architecture> found;
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(entry.size() == list.size() ? entry.size() : entry.size() + 1);
    if (entry.empty()) continue;
    Architecture one{.ptx = !entry.ends_with("-real"), .text = entry};
    std::from_chars(entry.data(), entry.data() + entry.size(), one.number);
    found.push_back(one);
  }
  return found;
}

}  // namespace

bool RunsOn(std::string_view list, double compute) {
  const int wanted = static_cast<int>(std::lround(compute * 10));
  for (const Architecture& one : Parse(list)) {
    if (one.number == 0) return true;
    if (wanted >= one.number && (one.ptx || wanted / 10 == one.number / 10)) return true;
  }
  return false;
}

std::string DescribeArchitectures(std::string_view list) {
  std::string text;
  for (const Architecture& one : Parse(list)) {
    if (!text.empty()) text += ", ";
    if (one.number == 0) {
      text += one.text;
    } else {
      text += StrCat(one.number / 10, ".", one.number % 10, one.ptx ? " and later" : "");
    }
  }
  return text;
}

}  // namespace hearth::doctor
