#include "cpu_tier/expert_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <vector>

#include "common/base/startup_error.h"
#include "cpu_tier/kernel_choice.h"
#include "cpu_tier/self_test.h"
#include "kernels/backend.h"
#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

using kernels::Real;

using kernels::ExpertArithmetic;
using kernels::ExpertIsa;

struct Choice {
  ExpertIsa isa;
  ExpertArithmetic arithmetic;
  const kernels::ExpertKernel& kernel() const { return kernels::GetExpertKernel(isa, arithmetic); }
};

std::vector<Choice> Choices() {
  std::vector<Choice> choices;
  for (const ExpertIsa isa : {ExpertIsa::kRef, ExpertIsa::kAvx2, ExpertIsa::kAvx512}) {
    if (!kernels::HostHas(isa)) continue;
    for (const auto arithmetic : {ExpertArithmetic::kFp32, ExpertArithmetic::kInt16}) {
      choices.push_back({isa, arithmetic});
    }
  }
  return choices;
}

// All units of an expert one after the other.
void RunAlone(const kernels::ExpertKernel& kernel, const kernels::ExpertFfnArgs& args) {
  std::vector<std::byte> memory(static_cast<size_t>(kernel.ScratchBytes(args.expert, args.picks)) + 64);
  void* scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  for (int p = 0; p < kernels::kExpertPhases; ++p) {
    const auto phase = static_cast<kernels::ExpertPhase>(p);
    for (kernels::Dim i = 0; i < kernel.Units(args.expert, args.picks, phase); ++i) {
      kernel.Run(args, phase, i, scratch);
    }
  }
}

// Random picks of a few experts, as a job has them.
struct Picks {
  std::vector<Real> x, out;
  std::vector<std::vector<int32_t>> x_row, out_row;
  std::vector<kernels::ExpertFfnArgs> args;

  Picks(const HomeView& home, uint32_t experts, std::mt19937& random) {
    constexpr int32_t kRows = 5;
    x.resize(kRows * home.hidden());
    for (Real& value : x) value = std::normal_distribution<float>()(random);
    int32_t next = 0;
    for (uint32_t e = 0; e < experts; ++e) {
      const auto picks = static_cast<size_t>(1 + random() % 5);
      x_row.emplace_back();
      out_row.emplace_back();
      for (size_t i = 0; i < picks; ++i) {
        x_row.back().push_back(static_cast<int32_t>(random() % kRows));
        out_row.back().push_back(next++);
      }
    }
    out.assign(static_cast<size_t>(next) * home.hidden(), -1);
    for (uint32_t e = 0; e < experts; ++e) {
      args.push_back({home.Expert(1, e), x.data(), x_row[e].data(), out.data(), out_row[e].data(),
                      static_cast<kernels::Dim>(x_row[e].size()), home.hidden()});
    }
  }
};

TEST(ExpertRunner, EqualsTheWholeKernelBitForBit) {
  // Odd sizes as well: paddings and surplus columns must not matter.
  for (const testing::TinyHomeSpec& spec :
       {testing::TinyHomeSpec{.layers = 2, .experts = 6},
        testing::TinyHomeSpec{.layers = 2, .experts = 6, .hidden = 320, .width = 200, .bits = 5}}) {
    const testing::TinyHome tiny(spec);
    const HomeView home = tiny.view();
    for (const Choice& choice : Choices()) {
      for (int threads : {1, 3}) {
        ThreadTeam team({std::vector<int>(static_cast<size_t>(threads), 0), false});
        ExpertRunner runner(choice.kernel(), team);
        std::mt19937 random(9);
        for (uint32_t experts : {1u, 6u, 2u}) {
          Picks picks(home, experts, random);
          ASSERT_TRUE(runner.Run(picks.args, nullptr));
          const std::vector<Real> got = picks.out;
          std::fill(picks.out.begin(), picks.out.end(), -2);
          for (const kernels::ExpertFfnArgs& args : picks.args) RunAlone(choice.kernel(), args);
          EXPECT_EQ(std::memcmp(got.data(), picks.out.data(), got.size() * sizeof(Real)), 0)
              << choice.kernel().name() << ", " << threads << " threads, " << experts << " experts";
        }
      }
    }
  }
}

// The shared fp32 kernel of the backends: what a worker on the host computes itself.
TEST(ExpertRunner, Fp32EqualsTheBackend) {
  const testing::TinyHome tiny({.layers = 2, .experts = 6});
  const HomeView home = tiny.view();
  ThreadTeam team({{0, 0}, false});
  ExpertRunner runner(kernels::GetExpertKernel(kernels::HostExpertIsa(), ExpertArithmetic::kFp32), team);
  std::mt19937 random(3);
  Picks picks(home, 4, random);
  ASSERT_TRUE(runner.Run(picks.args, nullptr));
  const std::vector<Real> got = picks.out;
  for (const kernels::ExpertFfnArgs& args : picks.args) kernels::RefBackend().expert_ffn(nullptr, args);
  EXPECT_EQ(std::memcmp(got.data(), picks.out.data(), got.size() * sizeof(Real)), 0);
}

TEST(ExpertRunner, StopsBetweenUnitsWhenNobodyWaits) {
  const testing::TinyHome tiny({.layers = 2, .experts = 4});
  const HomeView home = tiny.view();
  for (int threads : {1, 4}) {
    ThreadTeam team({std::vector<int>(static_cast<size_t>(threads), 0), false});
    ExpertRunner runner(kernels::GetExpertKernel(ExpertIsa::kRef, ExpertArithmetic::kFp32), team);
    std::mt19937 random(2);
    Picks picks(home, 2, random);
    std::atomic<int> asked{0};
    EXPECT_FALSE(runner.Run(picks.args, [&] { return ++asked == 3; }));
    EXPECT_GE(asked, 3);
    EXPECT_LE(asked, 3 + threads - 1) << "a thread asks at most once after the answer";
    EXPECT_TRUE(runner.Run(picks.args, nullptr)) << "the next job is whole again";
  }
}

TEST(SelfTest, PassesOnEveryKernelOfThisHost) {
  ThreadTeam team({{0, 0}, false});
  for (const Choice& choice : Choices()) {
    const SelfTestReport report = RunSelfTest(choice.kernel(), choice.arithmetic, team);
    EXPECT_TRUE(report.passed) << choice.kernel().name() << ": " << report.detail;
    EXPECT_EQ(report.worst_relative_error, 0) << choice.kernel().name() << ": all of one arithmetic have the same bits";
    EXPECT_EQ(report.Summary(), "passed");
  }
}

// A kernel with one wrong value in one strip of one kind of matrix.
class WrongKernel final : public kernels::ExpertKernel {
 public:
  explicit WrongKernel(ExpertArithmetic arithmetic) : right_(kernels::GetExpertKernel(ExpertIsa::kRef, arithmetic)) {}
  const char* name() const override { return "wrong"; }
  kernels::Dim ScratchBytes(const MlpView& e, kernels::Dim picks) const override {
    return right_.ScratchBytes(e, picks);
  }
  kernels::Dim Units(const MlpView& e, kernels::Dim picks, kernels::ExpertPhase phase) const override {
    return right_.Units(e, picks, phase);
  }
  void Run(const kernels::ExpertFfnArgs& args, kernels::ExpertPhase phase, kernels::Dim unit,
           void* scratch) const override {
    right_.Run(args, phase, unit, scratch);
    const bool other = args.expert.gate.bits == 6 && args.expert.gate.codebook == Codebook::kMcg;
    if (other && phase == kernels::ExpertPhase::kDown && unit == 1) args.out[130] *= 1.01f;
  }

 private:
  const kernels::ExpertKernel& right_;
};

TEST(SelfTest, FindsAKernelThatIsSlightlyWrong) {
  ThreadTeam team({{0}, false});
  for (const auto arithmetic : {ExpertArithmetic::kFp32, ExpertArithmetic::kInt16}) {
    const SelfTestReport report = RunSelfTest(WrongKernel(arithmetic), arithmetic, team);
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.Summary().find("wrong, K = 6, codebook 1"), std::string::npos) << report.Summary();
  }
}

TEST(KernelChoice, FollowsTheWorkerUnlessForced) {
  const KernelChoice choice = ChooseKernels("ref", "auto");
  EXPECT_EQ(choice.For(false), ExpertArithmetic::kFp32);
  EXPECT_EQ(choice.For(true), ExpertArithmetic::kInt16);
  EXPECT_EQ(choice.Possible().size(), 2u);
  EXPECT_EQ(ChooseKernels("ref", "int16").For(false), ExpertArithmetic::kInt16);
  EXPECT_EQ(ChooseKernels("ref", "fp32").For(true), ExpertArithmetic::kFp32);
  EXPECT_EQ(ChooseKernels("ref", "fp32").Possible().size(), 1u);
}

TEST(KernelChoice, OnlyAForcedInt16CannotGiveTheBitsOfFp32) {
  EXPECT_TRUE(ChooseKernels("ref", "auto").CheckFp32Bits().ok());
  EXPECT_TRUE(ChooseKernels("ref", "fp32").CheckFp32Bits().ok());
  EXPECT_NE(ChooseKernels("ref", "int16").CheckFp32Bits().message().find("--kernel auto or fp32"), std::string::npos);
}

TEST(KernelChoice, AutoTakesTheBestAndLowerOnesCanBeForced) {
  if (!kernels::HostHas(ExpertIsa::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  EXPECT_EQ(ChooseKernels("auto", "auto").isa, kernels::HostExpertIsa());
  EXPECT_EQ(ChooseKernels("avx2", "auto").isa, ExpertIsa::kAvx2);
  EXPECT_EQ(ChooseKernels("ref", "auto").isa, ExpertIsa::kRef);
  if (kernels::HostHas(ExpertIsa::kAvx512)) {
    EXPECT_EQ(ChooseKernels("avx512", "auto").isa, ExpertIsa::kAvx512);
  } else {
    EXPECT_THROW(ChooseKernels("avx512", "auto"), StartupError);
  }
}

TEST(KernelChoice, AVariantCanBeForced) {
  if (!kernels::HostHas(ExpertIsa::kAvx2)) GTEST_SKIP() << "this processor has no AVX2";
  for (const std::string& variant : kernels::Int16Variants(ExpertIsa::kAvx2)) {
    const KernelChoice choice = ChooseKernels("avx2", "int16:" + variant);
    EXPECT_EQ(choice.For(false), ExpertArithmetic::kInt16);
    EXPECT_EQ(choice.Kernel(ExpertArithmetic::kInt16).variant(), variant);
  }
  EXPECT_THROW(ChooseKernels("avx2", "int16:shuffle"), StartupError);
  EXPECT_THROW(ChooseKernels("ref", "int16:one-state"), StartupError);
}

}  // namespace
}  // namespace hearth
