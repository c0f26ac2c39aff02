#include <gtest/gtest.h>

#include <cstdio>

#include "kernels/cuda_backend.h"

// A program of GPU tests without a GPU says so and counts as skipped, not as passed (SKIP_RETURN_CODE).
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (const std::string problem = hearth::kernels::CudaProblem(); !problem.empty()) {
    std::printf("SKIPPED: %s\n", problem.c_str());
    return 77;
  }
  const hearth::kernels::CudaDevice device = hearth::kernels::DescribeCudaDevice();
  std::printf("device: %s, compute capability %d.%d, %d multiprocessors\n", device.name.c_str(), device.major,
              device.minor, device.multiprocessors);
  return RUN_ALL_TESTS();
}
