#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hearth {

// The whole of a text file of at most `max_bytes`; nothing when it does not exist. Throws StartupError naming the path
// when it is no regular file, too large or unreadable.
std::optional<std::string> ReadSmallFile(const std::string& path, uint64_t max_bytes);

// Why open(2) failed, and what would help: files that another user owns need no new download.
std::string WhyNotOpened(int error);

}  // namespace hearth
