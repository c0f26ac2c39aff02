#pragma once

#include <cstdint>
#include <vector>

namespace hearth {

// Words of a link slot (common/expert_link/link_layout.h) whose job has been written, and how often it is published.
struct FlagCalls {
  uint32_t* published = nullptr;
  uint32_t* bell = nullptr;
  const uint32_t* done = nullptr;
  uint32_t first_number = 1;  // of the first job; `bell` is stored the same
  uint32_t jobs = 0;
};

struct FlagTimes {
  std::vector<double> micros;  // per job, from before its flag is stored until the answer is seen
  uint32_t answered = 0;       // jobs until one was not answered within a second
};

// Publishes jobs one after another and waits for each in the same place: a kernel of one thread, or a thread of the
// host, which runs the same text. The words of the device's calls lie in registered host memory.
FlagTimes CallFromDevice(const FlagCalls& calls);
FlagTimes CallFromHost(const FlagCalls& calls);

}  // namespace hearth
