#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/cuda/device_copy.h"

namespace hearth::kernels {
namespace {

TEST(CudaMemory, WhatGoesUpComesDown) {
  testing::DeviceCopy device;
  const std::vector<int32_t> values{3, 1, 4, 1, 5, 9, 2, 6};
  EXPECT_EQ(device.Get(device.Put(values), 8), values);
}

TEST(CudaMemory, PoisonIsNotANumber) {
  testing::DeviceCopy device;
  for (float value : device.Get(device.Poisoned<float>(5), 5)) EXPECT_TRUE(std::isnan(value));
}

TEST(CudaMemory, NoRoomIsNullNotAnError) {
  const MemoryOps& memory = *CudaBackend().memory;
  EXPECT_EQ(memory.allocate(size_t{1} << 50), nullptr);
  void* small = memory.allocate(64);
  EXPECT_NE(small, nullptr);
  memory.release(small);
}

}  // namespace
}  // namespace hearth::kernels
