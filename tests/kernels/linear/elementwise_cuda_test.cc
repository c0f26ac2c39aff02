#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "common/base/float16.h"
#include "kernels/backend.h"
#include "tests/kernels/cuda/device_copy.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;

TEST(SwigluCuda, EqualsTheHost) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal(0, 6);
  DeviceCopy device;
  const Backend& b = DeviceCopy::backend();
  for (const Dim width : {1, 77, 2048}) {
    const Dim rows = 5;
    std::vector<float> gate(rows * width), up(rows * width), want(rows * width);
    for (float& v : gate) v = normal(rng);
    for (float& v : up) v = normal(rng);
    RefBackend().swiglu(nullptr, {gate.data(), up.data(), rows, width, 7.0f, want.data()});
    float* gate_device = device.Put(gate);
    float* out = device.Poisoned<float>(rows * width);
    b.swiglu(b.stream, {gate_device, device.Put(up), rows, width, 7.0f, out});
    const std::vector<float> got = device.Get(out, rows * width);
    const double error = testing::RelativeError(got, want);
    std::printf("swiglu %d x %d: error %.2g\n", static_cast<int>(rows), static_cast<int>(width), error);
    EXPECT_LE(error, 5e-7);  // two exps, each within 2 units in the last place
    b.swiglu(b.stream, {gate_device, device.Put(up), rows, width, 7.0f, gate_device});
    EXPECT_EQ(device.Get(gate_device, rows * width), got) << "in place";
  }
}

TEST(EmbedCuda, EqualsTheHostFromDeviceAndHostMemory) {
  std::mt19937 rng(2);
  const Backend& b = DeviceCopy::backend();
  constexpr Dim kVocab = 50, kRows = 9, kStreams = 4;
  const std::vector<int32_t> ids{0, 49, 7, 7, 31, 2, 48, 0, 13};
  for (const Dim hidden : {1, 130, 1100}) {
    for (const WeightKind kind : {WeightKind::kF32, WeightKind::kF16, WeightKind::kBf16}) {
      const Dim size = kind == WeightKind::kF32 ? 4 : 2;
      std::vector<unsigned char> table(kVocab * hidden * size);
      std::normal_distribution<float> normal;
      for (Dim i = 0; i < kVocab * hidden; ++i) {
        const float value = normal(rng);
        const uint16_t half = kind == WeightKind::kF16 ? FloatToF16(value) : FloatToBf16(value);
        std::memcpy(table.data() + i * size, size == 4 ? static_cast<const void*>(&value) : &half, size);
      }
      std::vector<float> want(kRows * kStreams * hidden);
      RefBackend().embed(nullptr, {table.data(), kind, ids.data(), kRows, kStreams, hidden, want.data()});
      void* pinned = b.memory->allocate_host(table.size());
      std::memcpy(pinned, table.data(), table.size());
      {
        DeviceCopy device;
        for (const void* where : {static_cast<const void*>(device.Put(table)), static_cast<const void*>(pinned)}) {
          float* out = device.Poisoned<float>(kRows * kStreams * hidden);
          b.embed(b.stream, {where, kind, device.Put(ids), kRows, kStreams, hidden, out});
          EXPECT_EQ(device.Get(out, kRows * kStreams * hidden), want) << "hidden " << hidden;
        }
      }
      b.memory->release_host(pinned);
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
