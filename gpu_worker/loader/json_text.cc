#include "gpu_worker/loader/json_text.h"

#include <unordered_set>
#include <vector>

namespace hearth {
namespace {

constexpr int kMaxDepth = 64;

bool TooDeep(const std::string& text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if ((c == '{' || c == '[') && ++depth > kMaxDepth) return true;
    if (c == '}' || c == ']') --depth;
  }
  return false;
}

}  // namespace

Result<Json> ParseJson(const std::string& text, const std::string& what) {
  if (TooDeep(text)) return InvalidArgument(what, ": JSON nested deeper than ", kMaxDepth);
  std::vector<std::unordered_set<std::string>> open_objects;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end && !open_objects.empty()) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.empty() && twice.empty()) {
      const std::string& key = value.get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second) twice = key;
    }
    return true;
  };
  try {
    Json json = Json::parse(text, watch);
    if (!twice.empty()) return InvalidArgument(what, ": ", twice, " occurs twice");
    return json;
  } catch (const Json::exception& error) {
    std::string reason = error.what();
    for (char& c : reason) {
      // The text quotes what was read, which may be anything.
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    }
    return InvalidArgument(what, ": not valid JSON: ", reason.substr(0, 200));
  }
}

std::string ShowJson(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

}  // namespace hearth
