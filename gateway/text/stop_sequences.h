#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::text {

// Finds stop strings across token borders. Text that could begin a stop string is held back, so nothing of one leaks.
class StopSequences {
 public:
  explicit StopSequences(std::vector<std::string> stops);  // empty strings are not allowed

  // Text that is safe to show. After `stopped()` nothing more comes.
  std::string Push(std::string_view text);
  // The rest that was held back, when the output ended without a stop string.
  std::string Finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace hearth::text
