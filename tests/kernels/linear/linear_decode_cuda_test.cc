#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "tests/kernels/cuda/device_copy.h"
#include "tests/support/test_matrix.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;
using hearth::testing::MatrixSpec;
using hearth::testing::TestMatrix;

// EXL3: activations carry 22 bits of the largest in their block of 128, weights are exact, sums are fp32. With blocks
// whose largest is about 3 times their rms the error is some 5e-7; the host's own fp32 sums add as much again.
constexpr double kBound = 3e-6;

const Backend& Host() { return HostHasAvx2() ? Avx2Backend() : RefBackend(); }  // equal bits, see linear_test

std::string Text(const MatrixSpec& s) {
  return "kind " + std::to_string(static_cast<int>(s.kind)) + " codebook " +
         std::to_string(static_cast<int>(s.codebook)) + " K " + std::to_string(s.bits) + " " + std::to_string(s.in) +
         " -> " + std::to_string(s.out);
}

std::vector<MatrixSpec> AllKinds() {
  std::vector<MatrixSpec> specs;
  for (const WeightKind kind : {WeightKind::kF32, WeightKind::kF16, WeightKind::kBf16}) specs.push_back({.kind = kind});
  for (uint32_t bits = 1; bits <= 8; ++bits) {
    for (const Codebook codebook : {Codebook::k3inst, Codebook::kMcg, Codebook::kMul1}) {
      specs.push_back({.kind = WeightKind::kExl3, .bits = bits, .codebook = codebook});
    }
  }
  return specs;
}

// A matrix on both sides and rows for it. `offset` shifts x and y off any alignment.
struct Case {
  TestMatrix matrix;
  Dim rows, x_stride, y_stride, offset;
  std::vector<float> x;
  DeviceCopy device;
  MatrixView w;
  float* x_device;

  Case(const MatrixSpec& spec, Dim row_count, bool aligned, std::mt19937& rng)
      : matrix(TestMatrix::Random(spec, rng)),
        rows(row_count),
        x_stride(spec.in + (aligned ? 0 : 3)),
        y_stride(spec.out + (aligned ? 0 : 5)),
        offset(aligned ? 0 : 1),
        x(row_count * x_stride + offset) {
    std::normal_distribution<float> normal;
    for (float& v : x) v = normal(rng);
    w = device.Put(matrix.view());
    x_device = device.Put(x);
  }

  // y with everything around it, NaN where nothing was written.
  std::vector<float> OnDevice(Dim first, Dim count) {
    const Dim size = count * y_stride + offset;
    float* y = device.Poisoned<float>(size);
    const Backend& b = DeviceCopy::backend();
    b.linear(b.stream, {x_device + offset + first * x_stride, x_stride, count, w, y + offset, y_stride, Phase::kDecode});
    return device.Get(y, size);
  }
  std::vector<float> OnHost() {
    std::vector<float> y(rows * y_stride + offset, NAN);
    Host().linear(nullptr, {x.data() + offset, x_stride, rows, matrix.view(), y.data() + offset, y_stride});
    return y;
  }
};

void Compare(const MatrixSpec& spec, Dim rows, bool aligned, std::mt19937& rng) {
  Case c(spec, rows, aligned, rng);
  const std::vector<float> got = c.OnDevice(0, rows), want = c.OnHost();
  std::vector<float> got_values, want_values;
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << Text(spec) << ": wrote outside of y, element " << i;
    } else {
      got_values.push_back(got[i]);
      want_values.push_back(want[i]);
    }
  }
  const double error = testing::RelativeError(got_values, want_values);
  std::printf("linear decode %s rows %d: error %.2g\n", Text(spec).c_str(), static_cast<int>(rows), error);
  EXPECT_LE(error, kBound) << Text(spec) << " rows " << rows;
}

TEST(LinearDecodeCuda, EqualsTheHostForAllKindsAndOddSizes) {
  std::mt19937 rng(1);
  for (MatrixSpec spec : AllKinds()) {
    for (int trial = 0; trial < 3; ++trial) {
      spec.in = 1 + rng() % 700;
      spec.out = 1 + rng() % 300;
      spec.bias = trial % 2 == 1;
      const Dim rows = trial == 0 ? 1 : trial == 1 ? 2 + rng() % 7 : 9 + rng() % 40;
      Compare(spec, rows, false, rng);
    }
    spec.in = 384;
    spec.out = 256;
    Compare(spec, 5, true, rng);
  }
}

TEST(LinearDecodeCuda, EqualsTheHostForEverySliceLength) {
  std::mt19937 rng(2);
  const auto exl3 = [](Dim in, Dim out, uint32_t bits) {
    return MatrixSpec{.kind = WeightKind::kExl3, .in = in, .out = out, .bits = bits};
  };
  Compare(exl3(4096, 2048, 3), 2, true, rng);     // one block of 128 each
  Compare(exl3(2048, 16384, 3), 3, true, rng);    // 256
  Compare(exl3(2000, 24000, 5), 1, true, rng);    // 256, a short last slice
  Compare(exl3(1100, 66000, 6), 1, true, rng);    // 512, a short last slice
  Compare(exl3(600, 131072, 6), 11, true, rng);   // the whole strip
  Compare({.kind = WeightKind::kF16, .in = 4096, .out = 128}, 8, true, rng);
  Compare({.kind = WeightKind::kF16, .in = 128, .out = 8192}, 1, true, rng);
  Compare({.kind = WeightKind::kBf16, .in = 2100, .out = 16384}, 2, true, rng);  // long slices
}

TEST(LinearDecodeCuda, RowsOfVeryDifferentSizes) {
  std::mt19937 rng(3);
  const MatrixSpec spec{.kind = WeightKind::kExl3, .in = 512, .out = 256, .bits = 4};
  Case c(spec, 6, true, rng);
  const float scales[] = {1e-30f, 1e-9f, 0.0f, 1e6f, 1e20f, 1.0f};
  for (Dim r = 0; r < 6; ++r) {
    for (Dim k = 0; k < spec.in; ++k) c.x[r * spec.in + k] *= scales[r];
  }
  c.x_device = c.device.Put(c.x);
  const std::vector<float> got = c.OnDevice(0, 6), want = c.OnHost();
  for (Dim r = 0; r < 6; ++r) {
    const auto row = [&](const std::vector<float>& y) {
      return std::vector<float>(y.begin() + r * spec.out, y.begin() + (r + 1) * spec.out);
    };
    EXPECT_LE(testing::RelativeError(row(got), row(want)), kBound) << "row " << r;
  }
}

TEST(LinearDecodeCuda, ARowDoesNotDependOnOthers) {
  std::mt19937 rng(4);
  for (MatrixSpec spec : AllKinds()) {
    if (spec.kind == WeightKind::kExl3 && spec.bits != 3 && spec.bits != 6) continue;
    spec.in = 1000;
    spec.out = 200;
    spec.bias = true;
    Case c(spec, 45, true, rng);
    std::vector<float> alone;
    for (Dim r = 0; r < c.rows; ++r) {
      const std::vector<float> y = c.OnDevice(r, 1);
      alone.insert(alone.end(), y.begin(), y.end());
    }
    for (const Dim rows : {2, 7, 8, 9, 31, 32, 33, 45}) {
      const std::vector<float> together = c.OnDevice(0, rows);
      EXPECT_EQ(std::memcmp(together.data(), alone.data(), together.size() * sizeof(float)), 0)
          << Text(spec) << " rows " << rows;
    }
  }
}

TEST(LinearDecodeCuda, ManyRowsOfTheHead) {
  std::mt19937 rng(5);
  const MatrixSpec spec{.kind = WeightKind::kExl3, .in = 256, .out = 1000, .bits = 6};
  Case c(spec, 1024, true, rng);
  const std::vector<float> all = c.OnDevice(0, 1024);
  EXPECT_LE(testing::RelativeError(all, c.OnHost()), kBound);
  const std::vector<float> one = c.OnDevice(900, 1);
  EXPECT_EQ(std::memcmp(one.data(), all.data() + 900 * spec.out, one.size() * sizeof(float)), 0);
}

TEST(LinearDecodeCuda, EveryRunGivesTheSameBits) {
  std::mt19937 rng(6);
  for (const MatrixSpec& spec : {MatrixSpec{.kind = WeightKind::kExl3, .in = 4096, .out = 2048, .bits = 3},
                                 MatrixSpec{.kind = WeightKind::kF16, .in = 4096, .out = 64}}) {
    Case c(spec, 4, true, rng);
    const std::vector<float> first = c.OnDevice(0, 4);
    for (int i = 0; i < 100; ++i) {
      const std::vector<float> again = c.OnDevice(0, 4);
      ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0) << Text(spec) << " run " << i;
    }
  }
}

TEST(LinearDecodeCuda, NoRowsNoWork) {
  std::mt19937 rng(7);
  Case c({.in = 128, .out = 128}, 1, true, rng);
  const Backend& b = DeviceCopy::backend();
  b.linear(b.stream, {c.x_device, 128, 0, c.w, nullptr, 128, Phase::kDecode});
  b.memory->synchronize(b.stream);
}

}  // namespace
}  // namespace hearth::kernels
