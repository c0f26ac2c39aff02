#include "common/base/process.h"

#include <cstdio>
#include <exception>

#include "common/base/startup_error.h"

namespace hearth {

int RunProcess(const char* name, const std::function<void(StopSignal&)>& body) {
  StopSignal::Install();
  StopSignal stop;
  try {
    body(stop);
    return 0;
  } catch (const StartupError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: unexpected error: %s\n", name, error.what());
    return 3;
  } catch (...) {
    std::fprintf(stderr, "%s: unexpected error of unknown type\n", name);
    return 3;
  }
}

}  // namespace hearth
