#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "tests/support/test_matrix.h"

namespace hearth::kernels {
namespace {

using testing::MatrixSpec;
using testing::TestMatrix;

struct Case {
  const char* name;
  MatrixSpec gate, up, down;  // shapes are filled in
  Dim hidden, width;
};

std::vector<Case> Cases() {
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

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (float v : values) bits.push_back(std::bit_cast<uint32_t>(v));
  return bits;
}

struct DenseExpert {
  std::vector<double> gate, up, down;
  explicit DenseExpert(const Expert& e) : gate(e.gate.Dense()), up(e.up.Dense()), down(e.down.Dense()) {}
};

std::vector<double> Formula(const Expert& e, const DenseExpert& w, const std::vector<double>& x) {
  const auto gate = testing::FormulaLinear(e.gate, w.gate, x);
  const auto up = testing::FormulaLinear(e.up, w.up, x);
  std::vector<double> mid(gate.size());
  const double limit = e.view.limit;
  for (size_t i = 0; i < mid.size(); ++i) {
    const double g = std::min(gate[i], limit);
    mid[i] = g / (1 + std::exp(-g)) * std::clamp(up[i], -limit, limit);
  }
  return testing::FormulaLinear(e.down, w.down, mid);
}

class ExpertFfn : public ::testing::Test {
 protected:
  void TearDown() override { SetKernelThreads(before_); }
  const int before_ = KernelThreads();
};

TEST_F(ExpertFfn, MatchesTheFormula) {
  std::mt19937 rng(3);
  for (const Case& c : Cases()) {
    const Expert expert(c, 2.5f, rng);
    const DenseExpert dense(expert);
    Picks picks(3, c.hidden, rng);
    for (const Backend* backend : {&RefBackend(), HostHasAvx2() ? &Avx2Backend() : &RefBackend()}) {
      std::fill(picks.out.begin(), picks.out.end(), NAN);
      backend->expert_ffn(backend->stream, picks.Args(expert.view, c.hidden));
      double worst = 0, square = 0;
      for (size_t i = 0; i < picks.x_row.size(); ++i) {
        const float* x = picks.x.data() + picks.x_row[i] * c.hidden;
        const auto expected = Formula(expert, dense, std::vector<double>(x, x + c.hidden));
        for (Dim h = 0; h < c.hidden; ++h) {
          worst = std::max(worst, std::fabs(picks.out[picks.out_row[i] * c.hidden + h] - expected[h]));
          square += expected[h] * expected[h];
        }
      }
      EXPECT_LE(worst, 2e-6 * std::sqrt(square / static_cast<double>(3 * c.hidden))) << c.name << " " << backend->name;
      for (Dim h = 0; h < c.hidden; ++h) {
        EXPECT_TRUE(std::isnan(picks.out[h])) << "row 0 was written";
        EXPECT_TRUE(std::isnan(picks.out[4 * c.hidden + h])) << "the last row was written";
      }
    }
  }
}

TEST_F(ExpertFfn, Avx2EqualsTheReferenceForAnyNumberOfPicks) {
  if (!HostHasAvx2()) GTEST_SKIP() << "this processor has no AVX2";
  std::mt19937 rng(4);
  for (const Case& c : Cases()) {
    const Expert expert(c, 10.0f, rng);
    for (const Dim count : {0, 1, 2, 5, 13, 40}) {
      Picks reference(count, c.hidden, rng);
      Picks fast = reference;
      RefBackend().expert_ffn(nullptr, reference.Args(expert.view, c.hidden));
      Avx2Backend().expert_ffn(nullptr, fast.Args(expert.view, c.hidden));
      EXPECT_EQ(Bits(fast.out), Bits(reference.out)) << c.name << " picks " << count;
    }
  }
}

TEST_F(ExpertFfn, UnitsInAnyOrderGiveTheSameBits) {
  std::mt19937 rng(5);
  for (const Backend* backend : {&RefBackend(), HostHasAvx2() ? &Avx2Backend() : &RefBackend()}) {
    for (const Case& c : Cases()) {
      const Expert expert(c, 10.0f, rng);
      Picks whole(9, c.hidden, rng);
      Picks parts = whole;
      backend->expert_ffn(backend->stream, whole.Args(expert.view, c.hidden));
      const Dim bytes = ExpertScratchBytes(expert.view, 9);
      std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, (bytes + 63) / 64 * 64), &std::free);
      std::memset(scratch.get(), 0xFF, static_cast<size_t>(bytes));  // NaN everywhere
      const ExpertFfnArgs args = parts.Args(expert.view, c.hidden);
      for (int p = 0; p < kExpertPhases; ++p) {
        const auto phase = static_cast<ExpertPhase>(p);
        const Dim units = ExpertUnits(expert.view, 9, phase);
        ASSERT_GE(units, 1);
        for (Dim unit = units; unit-- > 0;) backend->expert_unit(args, phase, unit, scratch.get());
      }
      EXPECT_EQ(Bits(parts.out), Bits(whole.out)) << c.name << " " << backend->name;
    }
  }
}

TEST_F(ExpertFfn, ThreadsDoNotShow) {
  if (!HostHasAvx2()) GTEST_SKIP() << "this processor has no AVX2";
  std::mt19937 rng(6);
  Case c = Cases()[0];
  c.hidden = 1024;
  c.width = 512;
  const Expert expert(c, 10.0f, rng);
  for (const Dim count : {1, 70}) {
    Picks serial(count, c.hidden, rng);
    Picks parallel = serial;
    SetKernelThreads(1);
    Avx2Backend().expert_ffn(nullptr, serial.Args(expert.view, c.hidden));
    SetKernelThreads(3);
    Avx2Backend().expert_ffn(nullptr, parallel.Args(expert.view, c.hidden));
    EXPECT_EQ(Bits(parallel.out), Bits(serial.out)) << count;
  }
}

}  // namespace
}  // namespace hearth::kernels
