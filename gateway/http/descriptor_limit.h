#pragma once

#include <cstdint>
#include <string>

namespace hearth::http {

// Connections that a process may hold with so many file descriptors: each takes one, and everything else that is open
// (listeners, channels to workers, epoll and event descriptors, files while they are read) keeps `kOtherDescriptors`.
constexpr uint64_t kOtherDescriptors = 128;
uint32_t ConnectionsWithin(uint64_t descriptors, uint32_t wanted);

// Raises this process's soft limit of file descriptors to the hard one; returns what it then is.
uint64_t RaiseDescriptorLimit();

}  // namespace hearth::http
