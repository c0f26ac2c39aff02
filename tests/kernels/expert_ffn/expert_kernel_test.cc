#include "kernels/expert_ffn/expert_kernel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "kernels/backend.h"
#include "tests/kernels/expert_ffn/expert_case.h"

namespace hearth::kernels {
namespace {

std::vector<const ExpertKernel*> Kernels(ExpertArithmetic arithmetic) {
  std::set<const ExpertKernel*> all;
  for (const ExpertIsa isa : {ExpertIsa::kRef, ExpertIsa::kAvx2, ExpertIsa::kAvx512}) {
    if (!HostHas(isa)) continue;
    all.insert(&GetExpertKernel(isa, arithmetic));
    for (const std::string& variant : Int16Variants(isa)) all.insert(&GetExpertKernel(isa, arithmetic, variant));
  }
  return {all.begin(), all.end()};
}

// All units, in ascending or descending order inside a phase, from scratch memory that is full of NaN.
void RunExpert(const ExpertKernel& kernel, const ExpertFfnArgs& args, bool backwards) {
  const Dim bytes = kernel.ScratchBytes(args.expert, args.picks);
  std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, (bytes + 127) / 64 * 64), &std::free);
  std::memset(scratch.get(), 0xFF, static_cast<size_t>(bytes));
  for (int p = 0; p < kExpertPhases; ++p) {
    const auto phase = static_cast<ExpertPhase>(p);
    const Dim units = kernel.Units(args.expert, args.picks, phase);
    for (Dim i = 0; i < units; ++i) kernel.Run(args, phase, backwards ? units - 1 - i : i, scratch.get());
  }
}

// rms of the difference to the formula in fp64, relative to the rms of the formula.
double ErrorAgainstFormula(const ExpertKernel& kernel, const Expert& expert, const DenseExpert& dense, Picks picks,
                           Dim hidden) {
  RunExpert(kernel, picks.Args(expert.view, hidden), false);
  double difference = 0, truth = 0;
  for (size_t i = 0; i < picks.x_row.size(); ++i) {
    const float* x = picks.x.data() + picks.x_row[i] * hidden;
    const auto expected = Formula(expert, dense, std::vector<double>(x, x + hidden));
    for (Dim h = 0; h < hidden; ++h) {
      const double d = picks.out[picks.out_row[i] * hidden + h] - expected[h];
      difference += d * d;
      truth += expected[h] * expected[h];
    }
  }
  return std::sqrt(difference / truth);
}

TEST(ExpertKernel, ErrorAgainstFp64OfEveryKAndCodebook) {
  std::mt19937 rng(1);
  double worst[2] = {};
  for (const Codebook codebook : {Codebook::kMul1, Codebook::kMcg, Codebook::k3inst}) {
    for (uint32_t bits = 1; bits <= 8; ++bits) {
      const MatrixSpec spec{.kind = WeightKind::kExl3, .bits = bits, .codebook = codebook};
      const Case c{"", spec, spec, spec, 512, 256};
      const Expert expert(c, 10.0f, rng);
      const DenseExpert dense(expert);
      const Picks picks(1 + bits % 8, c.hidden, rng);
      for (const ExpertArithmetic arithmetic : {ExpertArithmetic::kFp32, ExpertArithmetic::kInt16}) {
        for (const ExpertKernel* kernel : Kernels(arithmetic)) {
          const double error = ErrorAgainstFormula(*kernel, expert, dense, picks, c.hidden);
          const bool int16 = arithmetic == ExpertArithmetic::kInt16;
          EXPECT_LE(error, int16 ? 1e-3 : 5e-4)
              << kernel->name() << ", K = " << bits << ", codebook " << static_cast<int>(codebook);
          worst[int16] = std::max(worst[int16], error);
        }
      }
    }
  }
  RecordProperty("worst_fp32", std::to_string(worst[0]));
  RecordProperty("worst_int16", std::to_string(worst[1]));
  std::printf("worst error: fp32 %.2g, int16 %.2g\n", worst[0], worst[1]);
}

TEST(ExpertKernel, InstructionSetsAndOrdersOfUnitsGiveTheSameBits) {
  std::mt19937 rng(2);
  for (const Case& c : Cases()) {
    const Expert expert(c, 10.0f, rng);
    for (const Dim count : {0, 1, 2, 3, 4, 5, 6, 7, 8, 19}) {
      const Picks start(count, c.hidden, rng);
      for (const ExpertArithmetic arithmetic : {ExpertArithmetic::kFp32, ExpertArithmetic::kInt16}) {
        Picks want = start;
        RunExpert(GetExpertKernel(ExpertIsa::kRef, arithmetic), want.Args(expert.view, c.hidden), false);
        for (const ExpertKernel* kernel : Kernels(arithmetic)) {
          for (const bool backwards : {false, true}) {
            Picks got = start;
            RunExpert(*kernel, got.Args(expert.view, c.hidden), backwards);
            ASSERT_EQ(Bits(got.out), Bits(want.out)) << kernel->name() << ", " << c.name << ", picks " << count;
          }
        }
      }
    }
  }
}

TEST(ExpertKernel, Fp32IsTheSharedKernel) {
  std::mt19937 rng(3);
  const Case c = Cases()[1];
  const Expert expert(c, 10.0f, rng);
  Picks want(5, c.hidden, rng);
  Picks got = want;
  RefBackend().expert_ffn(nullptr, want.Args(expert.view, c.hidden));
  RunExpert(GetExpertKernel(HostExpertIsa(), ExpertArithmetic::kFp32), got.Args(expert.view, c.hidden), false);
  EXPECT_EQ(Bits(got.out), Bits(want.out));
}

TEST(ExpertKernel, APickDoesNotDependOnItsNeighbours) {
  std::mt19937 rng(4);
  const Case c = Cases()[0];
  const Expert expert(c, 10.0f, rng);
  Picks together(8, c.hidden, rng);
  const ExpertKernel& kernel = GetExpertKernel(HostExpertIsa(), ExpertArithmetic::kInt16);
  RunExpert(kernel, together.Args(expert.view, c.hidden), false);
  for (size_t i = 0; i < 8; ++i) {
    std::vector<float> alone(static_cast<size_t>(c.hidden));
    const int32_t zero = 0;
    RunExpert(kernel, {expert.view, together.x.data(), &together.x_row[i], alone.data(), &zero, 1, c.hidden}, false);
    EXPECT_EQ(std::memcmp(alone.data(), together.out.data() + together.out_row[i] * c.hidden, alone.size() * 4), 0);
  }
}

// A number that is not finite must reach the output, where the caller notices it.
TEST(ExpertKernel, NanComesThrough) {
  std::mt19937 rng(5);
  const Case c = Cases()[0];
  const Expert expert(c, 10.0f, rng);
  for (const ExpertKernel* kernel : Kernels(ExpertArithmetic::kInt16)) {
    Picks picks(1, c.hidden, rng);
    picks.x[static_cast<size_t>(picks.x_row[0] * c.hidden) + 300] = NAN;
    RunExpert(*kernel, picks.Args(expert.view, c.hidden), false);
    for (Dim h = 0; h < c.hidden; ++h) {
      ASSERT_TRUE(std::isnan(picks.out[static_cast<size_t>(picks.out_row[0] * c.hidden + h)])) << kernel->name();
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
