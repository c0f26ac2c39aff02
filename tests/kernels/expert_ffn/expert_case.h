#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/expert_ffn/expert_ffn.h"
#include "tests/support/test_matrix.h"

namespace hearth::kernels {

// Random experts of several shapes and their formula in fp64, for the tests of everything that computes an expert.

using hearth::testing::MatrixSpec;
using hearth::testing::TestMatrix;

struct Case {
  const char* name;
  MatrixSpec gate, up, down;  // shapes are filled in
  Dim hidden, width;
};

inline std::vector<Case> Cases() {
  const auto exl3 = [](uint32_t bits, Codebook codebook) {
    return MatrixSpec{.kind = WeightKind::kExl3, .bits = bits, .codebook = codebook};
  };
  const MatrixSpec k3 = exl3(3, Codebook::kMul1);
  const MatrixSpec f32{.kind = WeightKind::kF32}, f16{.kind = WeightKind::kF16}, bf16{.kind = WeightKind::kBf16};
  return {
      {"k3", k3, k3, k3, 512, 256},
      {"mixed bits", exl3(2, Codebook::kMul1), exl3(5, Codebook::kMul1), exl3(4, Codebook::kMcg), 384, 256},
      {"3inst, odd sizes", exl3(4, Codebook::k3inst), k3, k3, 200, 72},
      {"f32", f32, f32, f32, 200, 72},
      {"f16 and bf16", f16, bf16, f16, 96, 300},
      {"exl3 and plain", k3, bf16, f32, 200, 136},
      {"plain and exl3", f16, k3, k3, 257, 72},
  };
}

struct Expert {
  TestMatrix gate, up, down;
  MlpView view;
  Expert(Case c, float limit, std::mt19937& rng)
      : gate(Make(c.gate, c.hidden, c.width, rng)),
        up(Make(c.up, c.hidden, c.width, rng)),
        down(Make(c.down, c.width, c.hidden, rng)),
        view{gate.view(), up.view(), down.view(), limit} {}

 private:
  static TestMatrix Make(MatrixSpec spec, Dim in, Dim out, std::mt19937& rng) {
    spec.in = in;
    spec.out = out;
    return TestMatrix::Random(spec, rng);
  }
};

// Some picks of some rows, written to a shuffled subset of the output rows; rows nobody picked keep NaN.
struct Picks {
  std::vector<float> x, out;
  std::vector<int32_t> x_row, out_row;
  Picks(Dim picks, Dim hidden, std::mt19937& rng) : x(13 * hidden), out((picks + 2) * hidden, NAN) {
    std::normal_distribution<float> normal(0, 4);
    for (float& v : x) v = normal(rng);
    for (Dim i = 0; i < picks; ++i) {
      x_row.push_back(static_cast<int32_t>(rng() % 13));
      out_row.push_back(static_cast<int32_t>(picks - i));
    }
  }
  ExpertFfnArgs Args(const MlpView& expert, Dim hidden) {
    return {expert, x.data(), x_row.data(), out.data(), out_row.data(), static_cast<Dim>(x_row.size()), hidden};
  }
};

inline std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (float v : values) bits.push_back(std::bit_cast<uint32_t>(v));
  return bits;
}

struct DenseExpert {
  std::vector<double> gate, up, down;
  explicit DenseExpert(const Expert& e) : gate(e.gate.Dense()), up(e.up.Dense()), down(e.down.Dense()) {}
};

inline std::vector<double> Formula(const Expert& e, const DenseExpert& w, const std::vector<double>& x) {
  const auto gate = hearth::testing::FormulaLinear(e.gate, w.gate, x);
  const auto up = hearth::testing::FormulaLinear(e.up, w.up, x);
  std::vector<double> mid(gate.size());
  const double limit = e.view.limit;
  for (size_t i = 0; i < mid.size(); ++i) {
    const double g = std::min(gate[i], limit);
    mid[i] = g / (1 + std::exp(-g)) * std::clamp(up[i], -limit, limit);
  }
  return hearth::testing::FormulaLinear(e.down, w.down, mid);
}

}  // namespace hearth::kernels
