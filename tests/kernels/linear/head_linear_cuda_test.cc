#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/cuda/small_shapes.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;
using testing::RelativeError;

struct Shape {
  Dim heads, in, out;
};
constexpr Shape kShapes[] = {{3, 5, 7}, {1, 1, 1}, {4, 64, 128}, {2, 130, 131}, {5, 33, 260}, {8, 256, 512}};

std::vector<float> Normals(Dim count, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) v = normal(rng);
  return values;
}

std::vector<float> HeadProducts(const Backend& backend, const Shape& s, const std::vector<float>& w,
                                const std::vector<float>& x, Dim first, Dim rows, Phase phase) {
  DeviceCopy device;
  const bool cuda = &backend != &RefBackend();
  const std::vector<float> some(x.begin() + first * s.heads * s.in, x.begin() + (first + rows) * s.heads * s.in);
  std::vector<float> host(rows * s.heads * s.out);
  HeadLinearArgs args{.x = some.data(),
                      .rows = rows,
                      .heads = s.heads,
                      .in = s.in,
                      .out = s.out,
                      .w = w.data(),
                      .y = host.data(),
                      .phase = phase};
  if (!cuda) {
    backend.head_linear(backend.stream, args);
    return host;
  }
  args.x = device.Put(some);
  args.w = device.Put(w);
  args.y = device.Poisoned<float>(rows * s.heads * s.out);
  backend.head_linear(backend.stream, args);
  return device.Get(args.y, rows * s.heads * s.out);
}

// Decode: fp32 throughout, sums of up to 256. Prefill: operands keep 22 bits, sums on tensor cores may truncate.
TEST(HeadLinearCuda, MatchesTheReference) {
  std::mt19937 rng(1);
  for (const Shape& s : kShapes) {
    const std::vector<float> w = Normals(s.heads * s.in * s.out, rng);
    for (const Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      for (const Dim rows : {1, 8, 9, 150}) {
        if (testing::SmallShapes() && rows == 150 && s.in < 128) continue;
        const std::vector<float> x = Normals(rows * s.heads * s.in, rng);
        const double error = RelativeError(HeadProducts(CudaBackend(), s, w, x, 0, rows, phase),
                                           HeadProducts(RefBackend(), s, w, x, 0, rows, phase));
        const double bound = phase == Phase::kDecode ? 1e-6 : 48 * 0x1p-23;
        std::printf("head_linear %s, %lld heads %lld x %lld, rows %lld: error %.2e, allowed %.2e\n",
                    phase == Phase::kDecode ? "decode" : "prefill", static_cast<long long>(s.heads),
                    static_cast<long long>(s.in), static_cast<long long>(s.out), static_cast<long long>(rows), error,
                    bound);
        EXPECT_LE(error, bound);
      }
    }
  }
}

TEST(HeadLinearCuda, RowsDoNotDependOnTheirNumberAndRepeat) {
  std::mt19937 rng(2);
  for (const Shape& s : {Shape{2, 130, 131}, Shape{4, 256, 512}}) {
    const std::vector<float> w = Normals(s.heads * s.in * s.out, rng);
    const std::vector<float> x = Normals(140 * s.heads * s.in, rng);
    for (const Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      const std::vector<float> together = HeadProducts(CudaBackend(), s, w, x, 0, 140, phase);
      for (const auto& [first, rows] : {std::pair<Dim, Dim>{0, 1}, {7, 2}, {100, 40}, {139, 1}, {0, 140}}) {
        const std::vector<float> part = HeadProducts(CudaBackend(), s, w, x, first, rows, phase);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), together.begin() + first * s.heads * s.out))
            << "rows from " << first << ", " << rows;
      }
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
