#include <gtest/gtest.h>

#include <cmath>

#include "common/base/float16.h"
#include "kernels/backend.h"
#include "kernels/exl3/exl3.h"
#include "tests/kernels/exl3/exl3_vectors.h"
#include "tests/support/sha256.h"
#include "tests/support/test_matrix.h"

namespace hearth::kernels {
namespace {

using testing::HexBytes;
using testing::HexF32;
using testing::HexU16;
using testing::TestMatrix;

// +-1 as fp16 from the legacy sign fields: bit i of element j belongs to channel 16 j + i.
std::vector<uint16_t> SignsToF16(const std::vector<uint16_t>& fields) {
  std::vector<uint16_t> values;
  for (uint16_t field : fields) {
    for (int i = 0; i < 16; ++i) values.push_back(field >> i & 1 ? 0xBC00 : 0x3C00);
  }
  return values;
}

TestMatrix Load(const nlohmann::json& m) {
  testing::MatrixSpec spec;
  spec.in = m.at("in_features");
  spec.out = m.at("out_features");
  spec.bits = m.at("K");
  spec.codebook = testing::CodebookNamed(m.at("codebook"));
  const auto trellis = HexBytes(m.at("trellis_bytes"));
  std::vector<uint8_t> unaligned(trellis.size() + 1);
  std::copy(trellis.begin(), trellis.end(), unaligned.begin() + 1);
  const bool legacy = m.contains("su_u16");
  return TestMatrix::Exl3(spec, unaligned.data() + 1,
                          legacy ? SignsToF16(HexU16(m.at("su_u16"))) : HexU16(m.at("suh_f16")),
                          legacy ? SignsToF16(HexU16(m.at("sv_u16"))) : HexU16(m.at("svh_f16")));
}

// Largest |a - b| over the rms of b.
double RelativeToRms(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0, square = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    worst = std::max(worst, std::fabs(double{a[i]} - b[i]));
    square += double{b[i]} * b[i];
  }
  return worst / std::sqrt(square / static_cast<double>(b.size()));
}

std::vector<const Backend*> Backends() {
  std::vector<const Backend*> all{&RefBackend()};
  if (HostHasAvx2()) all.push_back(&Avx2Backend());
  return all;
}

TEST(Exl3Matrix, InnerMatrixThroughStripsHasTheGoldenHash) {
  const auto vectors = testing::ReadExl3Vectors();
  ASSERT_EQ(vectors.at("matrices").size(), 4u);
  for (const auto& m : vectors.at("matrices")) {
    const TestMatrix matrix = Load(m);
    std::vector<uint16_t> q(matrix.view().in_padded * matrix.view().out_padded);
    Exl3DecodeInner(matrix.view(), q.data());
    EXPECT_EQ(testing::Sha256Hex(q.data(), q.size() * 2), m.at("inner_sha256")) << m.at("id");
    const auto row0 = HexU16(m.at("inner_row0_f16"));
    EXPECT_TRUE(std::equal(row0.begin(), row0.end(), q.begin())) << m.at("id");
  }
}

TEST(Exl3Matrix, DenseFormulaHasTheGoldenHashAndSums) {
  const auto vectors = testing::ReadExl3Vectors();
  for (const auto& m : vectors.at("matrices")) {
    const std::vector<double> dense = Load(m).Dense();
    const std::vector<float> w(dense.begin(), dense.end());
    EXPECT_EQ(testing::Sha256Hex(w.data(), w.size() * 4), m.at("w_f32_sha256")) << m.at("id");
    double sum = 0, square = 0;
    for (float v : w) sum += v, square += double{v} * v;
    EXPECT_NEAR(sum, m.at("w_sum").get<double>(), 1e-9 * std::fabs(m.at("w_abs_sum").get<double>()));
    EXPECT_NEAR(square, m.at("w_sq_sum").get<double>(), 1e-12 * square);
  }
}

// A row of W comes out of Linear when x is a unit vector.
TEST(Exl3Matrix, RowsOfWComeOutOfLinear) {
  const auto vectors = testing::ReadExl3Vectors();
  for (const Backend* backend : Backends()) {
    for (const auto& m : vectors.at("matrices")) {
      const TestMatrix matrix = Load(m);
      const Dim in = matrix.view().in_features, out = matrix.view().out_features;
      for (const auto& [row, hex] : m.at("w_rows_f32").items()) {
        std::vector<float> x(in), y(out, NAN);
        x[std::stoul(row)] = 1;
        backend->linear(backend->stream, {x.data(), in, 1, matrix.view(), y.data(), out});
        EXPECT_LE(RelativeToRms(y, HexF32(hex)), 1e-6) << backend->name << " " << m.at("id") << " row " << row;
      }
    }
  }
}

TEST(Exl3Matrix, GemvMatchesTheExactProduct) {
  const auto vectors = testing::ReadExl3Vectors();
  for (const Backend* backend : Backends()) {
    for (const auto& m : vectors.at("matrices")) {
      const TestMatrix matrix = Load(m);
      const Dim in = matrix.view().in_features, out = matrix.view().out_features;
      std::vector<float> x, y(out, NAN);
      for (uint16_t bits : HexU16(m.at("gemv").at("x_f16"))) x.push_back(F16ToFloat(bits));
      ASSERT_EQ(static_cast<Dim>(x.size()), in);
      backend->linear(backend->stream, {x.data(), in, 1, matrix.view(), y.data(), out});
      EXPECT_LE(RelativeToRms(y, HexF32(m.at("gemv").at("y_exact_f32"))), 1e-6) << backend->name << " " << m.at("id");
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
