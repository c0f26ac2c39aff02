#include "tests/support/test_matrix.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/base/float16.h"
#include "kernels/exl3/exl3.h"

namespace hearth::testing {
namespace {

using kernels::Dim;

Dim Padded(Dim n) { return (n + 127) / 128 * 128; }

MatrixView ShapeOf(const MatrixSpec& spec) {
  MatrixView v;
  v.kind = spec.kind;
  v.in_features = spec.in;
  v.out_features = spec.out;
  v.out_padded = Padded(spec.out);
  v.in_padded = spec.kind == WeightKind::kExl3 ? Padded(spec.in) : spec.in;
  if (spec.kind == WeightKind::kExl3) {
    v.bits = spec.bits;
    v.codebook = spec.codebook;
  }
  return v;
}

struct Signs {
  double value[128][128];
  Signs() {
    for (int i = 0; i < 128; ++i) {
      for (int j = 0; j < 128; ++j) value[i][j] = std::popcount(static_cast<unsigned>(i & j)) % 2 ? -1.0 : 1.0;
    }
  }
};

// Unnormalized transform of n/128 blocks of values `stride` apart.
void Hadamard(double* v, Dim n, Dim stride) {
  static const Signs signs;
  for (Dim block = 0; block < n; block += 128) {
    double out[128] = {};
    for (int i = 0; i < 128; ++i) {
      const double in = v[(block + i) * stride];
      for (int j = 0; j < 128; ++j) out[j] += signs.value[i][j] * in;
    }
    for (int j = 0; j < 128; ++j) v[(block + j) * stride] = out[j];
  }
}

double PlainValue(const MatrixView& v, Dim k, Dim column) {
  const Dim index = (column / 128 * v.in_features + k) * 128 + column % 128;
  if (v.kind == WeightKind::kF32) return static_cast<const float*>(v.data)[index];
  const uint16_t bits = static_cast<const uint16_t*>(v.data)[index];
  return v.kind == WeightKind::kF16 ? F16ToFloat(bits) : Bf16ToFloat(bits);
}

}  // namespace

void TestMatrix::Allocate() {
  const size_t bytes = (static_cast<size_t>(view_.bytes()) + 127) / 64 * 64;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)), [](std::byte* p) { std::free(p); });
  view_.data = data_.get();
}

TestMatrix TestMatrix::Exl3(const MatrixSpec& spec, const void* trellis, std::vector<uint16_t> suh,
                            std::vector<uint16_t> svh) {
  TestMatrix m;
  m.view_ = ShapeOf(spec);
  m.Allocate();
  m.suh_ = std::move(suh);
  m.svh_ = std::move(svh);
  m.view_.suh = m.suh_.data();
  m.view_.svh = m.svh_.data();
  kernels::Exl3RepackStrips(trellis, m.view_.in_padded, m.view_.out_padded, spec.bits, 0, m.view_.strips(),
                            m.data_.get());
  return m;
}

TestMatrix TestMatrix::Random(const MatrixSpec& spec, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  const float scale = 1.0f / std::sqrt(static_cast<float>(spec.in));
  TestMatrix m;
  if (spec.kind == WeightKind::kExl3) {
    const Dim in = Padded(spec.in), out = Padded(spec.out);
    std::vector<uint16_t> trellis(in * out * spec.bits / 16), suh(in), svh(out);
    for (uint16_t& v : trellis) v = static_cast<uint16_t>(rng());
    for (uint16_t& v : suh) v = FloatToF16(scale * (rng() % 2 ? 1.0f : -1.0f) * (0.75f + 0.0625f * (rng() % 8)));
    for (uint16_t& v : svh) v = FloatToF16((rng() % 2 ? 1.0f : -1.0f) * (0.75f + 0.0625f * (rng() % 8)));
    m = Exl3(spec, trellis.data(), std::move(suh), std::move(svh));
  } else {
    m.view_ = ShapeOf(spec);
    m.Allocate();
    const Dim size = spec.kind == WeightKind::kF32 ? 4 : 2;
    std::vector<std::byte> weight(spec.in * spec.out * size + 1);  // one byte on: the source may be unaligned
    for (Dim i = 0; i < spec.in * spec.out; ++i) {
      const float value = normal(rng) * scale;
      const uint16_t half = spec.kind == WeightKind::kF16 ? FloatToF16(value) : FloatToBf16(value);
      std::memcpy(weight.data() + 1 + i * size, size == 4 ? static_cast<const void*>(&value) : &half, size);
    }
    kernels::PlainRepackStrips(weight.data() + 1, spec.kind, spec.in, spec.out, m.data_.get());
  }
  if (spec.bias) {
    for (Dim i = 0; i < spec.out; ++i) m.bias_.push_back(normal(rng));
    m.view_.bias = m.bias_.data();
  }
  return m;
}

std::vector<double> TestMatrix::Dense() const {
  const MatrixView& v = view_;
  std::vector<double> dense(v.in_features * v.out_features);
  if (v.kind != WeightKind::kExl3) {
    for (Dim k = 0; k < v.in_features; ++k) {
      for (Dim c = 0; c < v.out_features; ++c) dense[k * v.out_features + c] = PlainValue(v, k, c);
    }
    return dense;
  }
  std::vector<uint16_t> bits(v.in_padded * v.out_padded);
  kernels::Exl3DecodeInner(v, bits.data());
  std::vector<double> q(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) q[i] = F16ToFloat(bits[i]);
  for (Dim k = 0; k < v.in_padded; ++k) Hadamard(q.data() + k * v.out_padded, v.out_padded, 1);
  for (Dim c = 0; c < v.out_padded; ++c) Hadamard(q.data() + c, v.in_padded, v.out_padded);
  for (Dim k = 0; k < v.in_features; ++k) {
    for (Dim c = 0; c < v.out_features; ++c) {
      dense[k * v.out_features + c] = q[k * v.out_padded + c] * F16ToFloat(v.suh[k]) * F16ToFloat(v.svh[c]) * 0x1p-7;
    }
  }
  return dense;
}

std::vector<double> FormulaLinear(const TestMatrix& matrix, const std::vector<double>& dense,
                                  const std::vector<double>& x) {
  const MatrixView& v = matrix.view();
  std::vector<double> y(v.out_features);
  for (Dim c = 0; c < v.out_features; ++c) y[c] = v.bias == nullptr ? 0.0 : v.bias[c];
  for (Dim k = 0; k < v.in_features; ++k) {
    for (Dim c = 0; c < v.out_features; ++c) y[c] += x[k] * dense[k * v.out_features + c];
  }
  return y;
}

}  // namespace hearth::testing
