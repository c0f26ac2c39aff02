#include "common/log/repeat_filter.h"

namespace hearth {

RepeatFilter::Verdict RepeatFilter::See(const std::string& key, Time now) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    // A full table means many different events: they are printed rather than remembered.
    if (entries_.size() < kMaxKeys) entries_.emplace(key, Entry{now, 0});
    return {};
  }
  Entry& entry = found->second;
  if (now - entry.printed < kWindow) {
    ++entry.swallowed;
    return {.print = false};
  }
  const uint64_t swallowed = entry.swallowed;
  entry = {now, 0};
  return {.print = true, .swallowed = swallowed};
}

std::vector<RepeatFilter::Held> RepeatFilter::TakeExpired(Time now) {
  std::vector<Held> held;
  std::erase_if(entries_, [&](const auto& item) {
    const auto& [key, entry] = item;
    if (now != Time::max() && now - entry.printed < kWindow) return false;
    if (entry.swallowed > 0) held.push_back({key, entry.swallowed});
    return true;
  });
  return held;
}

}  // namespace hearth
