#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "tests/kernels/expert_ffn/expert_case.h"

namespace hearth::kernels {
namespace {

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
