#include "gpu_worker/memory/out_of_memory.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

namespace hearth {
namespace {

[[noreturn]] void ThrowOnAThread(void (*what)()) {
  EndOnOutOfMemory();
  std::thread(what).join();
  std::exit(0);
}

TEST(EndOnOutOfMemory, OneLineAndTheCodeOfFatalCudaErrors) {
  EXPECT_EXIT(ThrowOnAThread([] { throw std::bad_alloc(); }), testing::ExitedWithCode(70),
              "fatal: out of memory.*--ec-reserve-gb.*-cs");
}

TEST(EndOnOutOfMemory, OtherErrorsAbortAsBefore) {
  EXPECT_EXIT(ThrowOnAThread([] { throw std::runtime_error("something else"); }), testing::KilledBySignal(SIGABRT),
              "something else");
}

}  // namespace
}  // namespace hearth
