#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/linear/matrix_operands_cuda.h"
#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/cuda/small_shapes.h"
#include "tests/support/test_matrix.h"

namespace hearth::kernels {
namespace {

using hearth::testing::MatrixSpec;
using hearth::testing::TestMatrix;
using testing::DeviceCopy;
using testing::RelativeError;
using testing::Smaller;

// EXL3: rotated activations are rounded to fp16, whose unit roundoff is 2^-11; weights are exact and sums fp32. Plain, and
// EXL3 with two terms: operands keep 22 bits (2^-22 each); fp32 sums of a tensor core may truncate, up to 2^-23 for each
// of up to 100 steps here, all to one side.
double Bound(WeightKind kind, PrefillOperands operands = PrefillOperands::kF16) {
  return kind == WeightKind::kExl3 && operands == PrefillOperands::kF16 ? 0x1p-11 : 100 * 0x1p-23;
}

std::vector<float> Normals(Dim count, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) v = normal(rng);
  return values;
}

std::string Text(const MatrixSpec& s, Dim rows) {
  return "linear prefill kind " + std::to_string(static_cast<int>(s.kind)) + " codebook " +
         std::to_string(static_cast<int>(s.codebook)) + " K " + std::to_string(s.bits) + ", " + std::to_string(s.in) +
         " x " + std::to_string(s.out) + (s.bias ? " with bias" : "") + ", rows " + std::to_string(rows);
}

// y [rows, out], with guards behind every row; x and y lie one float off alignment when `shift` is 1.
std::vector<float> OnGpu(const MatrixView& w, const std::vector<float>& x, Dim x_stride, Dim first, Dim rows, int shift,
                         PrefillOperands operands = PrefillOperands::kF16) {
  DeviceCopy device;
  const Dim y_stride = w.out_features + 4 + shift;
  std::vector<float> shifted(shift, 0.0f);
  shifted.insert(shifted.end(), x.begin() + first * x_stride, x.begin() + (first + rows) * x_stride);
  const float* device_x = device.Put(shifted) + shift;
  float* y = device.Poisoned<float>(shift + rows * y_stride);
  CudaBackend(operands).linear(CudaBackend().stream, {.x = device_x,
                                                      .x_stride = x_stride,
                                                      .rows = rows,
                                                      .w = device.Put(w),
                                                      .y = y + shift,
                                                      .y_stride = y_stride,
                                                      .phase = Phase::kPrefill});
  const std::vector<float> all = device.Get(y + shift, rows * y_stride);
  std::vector<float> out;
  for (Dim r = 0; r < rows; ++r) {
    for (Dim c = 0; c < y_stride; ++c) {
      const float v = all[r * y_stride + c];
      if (c < w.out_features) {
        out.push_back(v);
      } else {
        EXPECT_TRUE(std::isnan(v)) << "wrote behind row " << r << ", column " << c;
      }
    }
  }
  return out;
}

std::vector<float> OnHost(const MatrixView& w, const std::vector<float>& x, Dim x_stride, Dim rows) {
  std::vector<float> y(rows * w.out_features);
  RefBackend().linear(nullptr, {x.data(), x_stride, rows, w, y.data(), w.out_features});
  return y;
}

void Compare(MatrixSpec spec, Dim rows, int shift, std::mt19937& rng,
             PrefillOperands operands = PrefillOperands::kF16) {
  const TestMatrix matrix = TestMatrix::Random(spec, rng);
  const Dim stride = spec.in + (shift == 1 ? 3 : 0);
  const std::vector<float> x = Normals(rows * stride, rng);
  const std::vector<float> got = OnGpu(matrix.view(), x, stride, 0, rows, shift, operands);
  const std::vector<float> want = OnHost(matrix.view(), x, stride, rows);
  const double error = RelativeError(got, want);
  const double bound = Bound(spec.kind, operands);
  std::printf("%s: error %.2e, allowed %.2e\n", Text(spec, rows).c_str(), error, bound);
  EXPECT_LE(error, bound) << Text(spec, rows);
  double square = 0;
  for (const float v : want) square += double{v} * v;
  const double one = 12 * bound * std::sqrt(square / static_cast<double>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], one) << Text(spec, rows) << " row " << i / spec.out << " column " << i % spec.out;
  }
}

TEST(LinearPrefillCuda, Exl3OfEveryCodebookAndRate) {
  std::mt19937 rng(1);
  for (const Codebook codebook : {Codebook::k3inst, Codebook::kMcg, Codebook::kMul1}) {
    for (uint32_t bits = 1; bits <= 8; ++bits) {
      Compare({.in = 256, .out = Smaller<Dim>(384, 128), .bits = bits, .codebook = codebook, .bias = bits % 2 == 1}, 70,
              0, rng);
    }
  }
}

TEST(LinearPrefillCuda, Exl3InTwoTerms) {
  std::mt19937 rng(12);
  for (const Codebook codebook : {Codebook::k3inst, Codebook::kMcg, Codebook::kMul1}) {
    for (uint32_t bits = 1; bits <= 8; ++bits) {
      Compare({.in = 1 + static_cast<Dim>(rng() % Smaller(500, 200)),
               .out = 1 + static_cast<Dim>(rng() % Smaller(500, 200)),
               .bits = bits,
               .codebook = codebook,
               .bias = bits % 2 == 1},
              1 + rng() % 200, bits % 3 == 0, rng, PrefillOperands::kF16x2);
    }
  }
}

TEST(LinearPrefillCuda, PlainKinds) {
  std::mt19937 rng(2);
  for (const WeightKind kind : {WeightKind::kF32, WeightKind::kF16, WeightKind::kBf16}) {
    Compare({.kind = kind, .in = 256, .out = 256, .bias = true}, 130, 0, rng);
    Compare({.kind = kind, .in = 37, .out = 5}, 3, 1, rng);
  }
}

TEST(LinearPrefillCuda, OddSizes) {
  std::mt19937 rng(3);
  for (int trial = 0; trial < Smaller(24, 8); ++trial) {
    const WeightKind kinds[] = {WeightKind::kExl3, WeightKind::kF32, WeightKind::kF16, WeightKind::kBf16};
    const MatrixSpec spec{.kind = kinds[trial % 4],
                          .in = 1 + static_cast<Dim>(rng() % Smaller(500, 200)),
                          .out = 1 + static_cast<Dim>(rng() % Smaller(500, 200)),
                          .bits = 1 + static_cast<uint32_t>(rng() % 8),
                          .bias = rng() % 2 == 0};
    Compare(spec, 1 + rng() % Smaller(300, 150), trial % 3 == 0, rng);
  }
}

TEST(LinearPrefillCuda, DeepSums) {
  std::mt19937 rng(4);
  Compare({.in = 4096, .out = 256, .bits = 3}, 40, 0, rng);
}

TEST(LinearPrefillCuda, EnoughTilesForWideBlocks) {
  std::mt19937 rng(5);
  const MatrixSpec spec{.in = 128, .out = 128 * 140, .bits = 4};
  Compare(spec, 140, 0, rng);
  const TestMatrix matrix = TestMatrix::Random(spec, rng);
  const std::vector<float> x = Normals(700 * spec.in, rng);
  const std::vector<float> many = OnGpu(matrix.view(), x, spec.in, 0, 700, 0);
  const std::vector<float> few = OnGpu(matrix.view(), x, spec.in, 350, 1, 0);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin() + 350 * spec.out));
}

TEST(LinearPrefillCuda, ShapesOfBlocksDoNotShow) {
  std::mt19937 rng(11);
  const MatrixSpec spec{.in = Smaller<Dim>(1024, 256), .out = 384, .bits = 3};
  const Dim rows = Smaller<Dim>(200, 140);
  const TestMatrix matrix = TestMatrix::Random(spec, rng);
  DeviceCopy device;
  const MatrixView w = device.Put(matrix.view());
  const auto stream = static_cast<cudaStream_t>(CudaBackend().stream);
  const cuda::MatrixOperands operands(w, 1);
  cuda::RowsJob r = cuda::RowsJobOf(w, operands, rows);
  r.x = device.Put(Normals(rows * spec.in, rng));
  r.x_stride = spec.in;
  r.out = device.Poisoned<__half>(rows * spec.in);
  r.inverse_scale = device.Poisoned<float>(rows);
  cuda::TilesJob t = cuda::TilesJobOf(w, operands, 0, w.strips());
  t.tiles = device.Poisoned<uint4>(spec.in * spec.out / 8);
  cuda::MakeRows(stream, {&r, 1});
  cuda::MakeTiles(stream, {&t, 1});
  std::vector<float> first;
  for (const cuda::GemmBlock block :
       {cuda::GemmBlock::kNarrow, cuda::GemmBlock::kWide, cuda::GemmBlock::kNarrowDeep, cuda::GemmBlock::kWideDeep}) {
    if (!cuda::GemmBlockFits(block)) continue;
    cuda::GemmJob g = cuda::GemmJobOf(w, operands, 0, w.strips(), rows);
    g.x = r.out;
    g.tiles = t.tiles;
    g.row_scale = r.inverse_scale;
    g.y = device.Poisoned<float>(rows * spec.out);
    g.y_stride = spec.out;
    cuda::MultiplyTiles(stream, {&g, 1}, block);
    const std::vector<float> y = device.Get(g.y, rows * spec.out);
    if (first.empty()) first = y;
    EXPECT_EQ(y, first) << static_cast<int>(block);
  }
}

// Every row is scaled by itself: rows of very different size have the accuracy of their own.
TEST(LinearPrefillCuda, RowsOfAnySize) {
  std::mt19937 rng(6);
  for (const WeightKind kind : {WeightKind::kExl3, WeightKind::kF32}) {
    const MatrixSpec spec{.kind = kind, .in = 300, .out = 200};
    const TestMatrix matrix = TestMatrix::Random(spec, rng);
    const float sizes[] = {1e-30f, 1e-9f, 0.0f, 1.0f, 3e5f, 1e25f};
    std::vector<float> x = Normals(6 * spec.in, rng);
    for (Dim i = 0; i < 6 * spec.in; ++i) x[i] *= sizes[i / spec.in];
    const std::vector<float> got = OnGpu(matrix.view(), x, spec.in, 0, 6, 0);
    const std::vector<float> want = OnHost(matrix.view(), x, spec.in, 6);
    for (Dim r = 0; r < 6; ++r) {
      std::vector<float> a, b;  // squares of 1e-30 and 1e25 must not leave fp64, they do not
      for (Dim c = 0; c < spec.out; ++c) a.push_back(got[r * spec.out + c]), b.push_back(want[r * spec.out + c]);
      if (sizes[r] == 0.0f) {
        EXPECT_EQ(a, b);
      } else {
        const double error = RelativeError(a, b);
        std::printf("linear prefill kind %d, row of size %g: error %.2e\n", static_cast<int>(kind), sizes[r], error);
        EXPECT_LE(error, 2 * Bound(kind)) << sizes[r];
      }
    }
  }
}

TEST(LinearPrefillCuda, RowsDoNotDependOnTheirNumber) {
  std::mt19937 rng(7);
  for (const WeightKind kind : {WeightKind::kExl3, WeightKind::kF16, WeightKind::kBf16}) {
    const MatrixSpec spec{.kind = kind, .in = 333, .out = 200, .bias = true};
    const TestMatrix matrix = TestMatrix::Random(spec, rng);
    const std::vector<float> x = Normals(300 * spec.in, rng);
    const std::vector<float> together = OnGpu(matrix.view(), x, spec.in, 0, 300, 0);
    for (const auto& [first, rows] : {std::pair<Dim, Dim>{0, 1}, {17, 1}, {127, 2}, {64, 129}, {299, 1}}) {
      const std::vector<float> part = OnGpu(matrix.view(), x, spec.in, first, rows, 0);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), together.begin() + first * spec.out))
          << static_cast<int>(kind) << " rows from " << first << ", " << rows;
    }
  }
}

TEST(LinearPrefillCuda, RepeatsGiveTheSameBits) {
  std::mt19937 rng(8);
  const MatrixSpec spec{.in = 1024, .out = 1024, .bits = 5};
  const TestMatrix matrix = TestMatrix::Random(spec, rng);
  DeviceCopy device;
  const LinearArgs args{.x = device.Put(Normals(500 * spec.in, rng)),
                        .x_stride = spec.in,
                        .rows = 500,
                        .w = device.Put(matrix.view()),
                        .y = device.Poisoned<float>(500 * spec.out),
                        .y_stride = spec.out,
                        .phase = Phase::kPrefill};
  CudaBackend().linear(CudaBackend().stream, args);
  const std::vector<float> first = device.Get(args.y, 500 * spec.out);
  for (int i = 0; i < 100; ++i) CudaBackend().linear(CudaBackend().stream, args);
  EXPECT_EQ(device.Get(args.y, 500 * spec.out), first);
}

// More rows than are rotated at a time.
TEST(LinearPrefillCuda, PassesDoNotShow) {
  std::mt19937 rng(9);
  const MatrixSpec spec{.in = 16384, .out = 128, .bits = 2};
  const TestMatrix matrix = TestMatrix::Random(spec, rng);
  const Dim rows = 4500, different = 53;
  const std::vector<float> some = Normals(different * spec.in, rng);
  std::vector<float> x;
  x.reserve(rows * spec.in);
  for (Dim r = 0; r < rows; ++r) {
    x.insert(x.end(), some.begin() + r % different * spec.in, some.begin() + (r % different + 1) * spec.in);
  }
  const std::vector<float> all = OnGpu(matrix.view(), x, spec.in, 0, rows, 0);
  const std::vector<float> few = OnGpu(matrix.view(), some, spec.in, 0, different, 0);
  for (Dim r = 0; r < rows; ++r) {
    ASSERT_TRUE(std::equal(few.begin() + r % different * spec.out, few.begin() + (r % different + 1) * spec.out,
                           all.begin() + r * spec.out))
        << r;
  }
}

}  // namespace
}  // namespace hearth::kernels
