#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "kernels/device_array.h"
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

// Odd sizes, addresses that are multiples of 4 only, both directions in one call, more pieces than one launch takes.
TEST(CudaMemory, PiecesGoUpAndDown) {
  const Backend& b = CudaBackend();
  constexpr int kPieces = 150;
  constexpr size_t kRoom = 4200;  // words of a piece and the gap behind it
  HostArray<uint32_t> host(b);
  DeviceArray<uint32_t> device(b);
  host.Grow(2 * kPieces * kRoom);
  device.Grow(2 * kPieces * kRoom);
  std::vector<uint32_t> before(2 * kPieces * kRoom);
  for (size_t i = 0; i < before.size(); ++i) before[i] = static_cast<uint32_t>(i * 2654435761u);
  device.Assign(before);
  for (size_t i = 0; i < before.size(); ++i) host.data()[i] = ~before[i];
  std::vector<CopyPiece> pieces;
  std::vector<uint32_t> up = before, down(host.data(), host.data() + before.size());
  for (size_t p = 0; p < 2 * kPieces; ++p) {
    const size_t at = p * kRoom + p % 5, words = p % 7 == 0 ? 4096 : (p * 37) % 530;
    const bool goes_up = p % 2 == 0;
    const uint32_t* from = goes_up ? host.data() + at : device.data() + at;
    pieces.push_back({goes_up ? device.data() + at : host.data() + at, from, words * 4});
    for (size_t i = at; i < at + words; ++i) (goes_up ? up : down)[i] = goes_up ? ~before[i] : before[i];
  }
  b.memory->copy_pieces(b.stream, pieces.data(), static_cast<int>(pieces.size()));
  b.memory->synchronize(b.stream);
  EXPECT_TRUE(std::equal(down.begin(), down.end(), host.data()));
  std::vector<uint32_t> got(up.size());
  b.memory->download(b.stream, got.data(), device.data(), got.size() * 4);
  b.memory->synchronize(b.stream);
  EXPECT_EQ(got, up);
}

TEST(CudaMemory, NoRoomIsNullNotAnError) {
  const MemoryOps& memory = *CudaBackend().memory;
  EXPECT_EQ(memory.allocate(size_t{1} << 50), nullptr);
  void* small = memory.allocate(64);
  EXPECT_NE(small, nullptr);
  memory.release(small);
}

// The driver refuses memory that cannot be pinned; nothing stays behind that would disturb what comes next.
TEST(CudaMemory, MemoryThatCannotBeRegisteredIsRefusedInWords) {
  constexpr size_t kBytes = 4 << 20;
  const MemoryOps& memory = *CudaBackend().memory;
  void* const pages = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const std::string refusal = memory.register_host(pages, kBytes);
  EXPECT_NE(refusal.find("cudaHostRegister refused 4 MiB"), std::string::npos) << "said: " << refusal;
  ASSERT_EQ(::mprotect(pages, kBytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(memory.register_host(pages, kBytes), "");
  memory.unregister_host(pages);
  testing::DeviceCopy device;
  EXPECT_EQ(device.Get(device.Put(std::vector<int32_t>{7}), 1), std::vector<int32_t>{7});
  ::munmap(pages, kBytes);
}

}  // namespace
}  // namespace hearth::kernels
