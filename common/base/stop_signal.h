#pragma once

#include <chrono>

namespace hearth {

// Whether the process was asked to stop. SIGTERM and SIGINT set it once Install() was called; a second one ends the
// process at once with exit code 130. There is one request per process, so all StopSignal objects show the same.
// Thread-safe; Request() may be called from a signal handler.
class StopSignal {
 public:
  // Routes SIGTERM and SIGINT here and ignores SIGPIPE.
  static void Install();

  // Asks the process to stop, as a first signal does. Any thread may call it.
  static void Request();

  bool requested() const;
  // Waits until a stop is requested or the time is over; says whether it is requested.
  bool WaitFor(std::chrono::nanoseconds time) const;
  // Becomes readable, and stays so, once a stop is requested: for poll() beside other descriptors. Do not read or
  // close.
  int poll_fd() const;
};

}  // namespace hearth
