#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace hearth {

// Decides which of many equal events are printed. The first of a key is; those within the window after it only count;
// the first one later is printed with the number swallowed in between. Holds at most kMaxKeys keys. Time is a
// parameter; not thread-safe.
class RepeatFilter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr size_t kMaxKeys = 256;

  struct Verdict {
    bool print = true;
    uint64_t swallowed = 0;  // since the last one printed; only with print
  };
  struct Held {
    std::string key;
    uint64_t swallowed = 0;
  };

  Verdict See(const std::string& key, Time now);

  // Takes the keys whose window is over and whose count nobody has seen; TakeAll() takes the others as well.
  std::vector<Held> TakeExpired(Time now);
  std::vector<Held> TakeAll() { return TakeExpired(Time::max()); }

 private:
  struct Entry {
    Time printed;
    uint64_t swallowed = 0;
  };
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace hearth
