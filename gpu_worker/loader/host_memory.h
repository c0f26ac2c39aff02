#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace hearth {

// Text of a file, nothing when there is none.
using TextReader = std::function<std::optional<std::string>(const std::string& path)>;

// Bytes that this process can still take: what the machine has available, or less when a cgroup (version 1 or 2) of the
// process or of its ancestors limits it. Page cache that can be dropped counts as available. Nothing when unknown.
std::optional<uint64_t> AvailableMemory(const TextReader& read);
std::optional<uint64_t> AvailableMemory();  // of this machine

// The words that refuse a model which does not fit, "" when it does. `home` is 0 when it lies in memory already.
std::string MemoryProblem(uint64_t weights, uint64_t home, uint64_t available);

}  // namespace hearth
