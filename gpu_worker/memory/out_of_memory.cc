#include "gpu_worker/memory/out_of_memory.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace hearth {
namespace {

std::terminate_handler before = nullptr;

void Terminate() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "fatal: out of memory: there is no room for a buffer to grow; raise --ec-reserve-gb or lower -cs; the process "
        "ends, a new one can adopt the expert home\n",
        stderr);
    std::fflush(stderr);
    std::_Exit(70);
  } catch (...) {
  }
  if (before != nullptr) before();
  std::abort();
}

}  // namespace

void EndOnOutOfMemory() {
  const std::terminate_handler now = std::set_terminate(Terminate);
  if (now != Terminate) before = now;
}

}  // namespace hearth
