#include "gateway/text/stop_sequences.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace hearth::text {
namespace {

// Length of the longest end of `text` that is a proper beginning of `stop`.
size_t BegunAtEnd(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.ends_with(stop.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

StopSequences::StopSequences(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) HEARTH_CHECK(!stop.empty(), "empty stop string");
}

std::string StopSequences::Push(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  // The stop string that is complete first counts, whatever the cuts between the pushes.
  size_t first_end = std::string::npos, first_begin = 0;
  for (const std::string& stop : stops_) {
    const size_t begin = held_.find(stop);
    if (begin == std::string::npos) continue;
    const size_t end = begin + stop.size();
    if (end < first_end || (end == first_end && begin < first_begin)) {
      first_end = end;
      first_begin = begin;
    }
  }
  std::string safe;
  if (first_end != std::string::npos) {
    stopped_ = true;
    safe = held_.substr(0, first_begin);
    held_.clear();
    return safe;
  }
  size_t keep = 0;
  for (const std::string& stop : stops_) keep = std::max(keep, BegunAtEnd(held_, stop));
  safe = held_.substr(0, held_.size() - keep);
  held_.erase(0, safe.size());
  return safe;
}

std::string StopSequences::Finish() { return stopped_ ? std::string() : std::exchange(held_, {}); }

}  // namespace hearth::text
