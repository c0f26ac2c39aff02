#include "cpu_tier/expert_runner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "cpu_tier/self_test.h"
#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

using kernels::Real;

std::vector<const kernels::Backend*> Backends() {
  std::vector<const kernels::Backend*> backends = {&kernels::RefBackend()};
  if (kernels::HostHasAvx2()) backends.push_back(&kernels::Avx2Backend());
  return backends;
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
    for (const kernels::Backend* backend : Backends()) {
      for (int threads : {1, 3}) {
        ThreadTeam team({std::vector<int>(static_cast<size_t>(threads), 0), false});
        ExpertRunner runner(*backend, team);
        std::mt19937 random(9);
        for (uint32_t experts : {1u, 6u, 2u}) {
          Picks picks(home, experts, random);
          ASSERT_TRUE(runner.Run(picks.args, nullptr));
          const std::vector<Real> got = picks.out;
          std::fill(picks.out.begin(), picks.out.end(), -2);
          for (const kernels::ExpertFfnArgs& args : picks.args) backend->expert_ffn(backend->stream, args);
          EXPECT_EQ(std::memcmp(got.data(), picks.out.data(), got.size() * sizeof(Real)), 0)
              << backend->name << ", " << threads << " threads, " << experts << " experts";
        }
      }
    }
  }
}

TEST(ExpertRunner, StopsBetweenPhasesWhenNobodyWaits) {
  const testing::TinyHome tiny({.layers = 2, .experts = 4});
  const HomeView home = tiny.view();
  ThreadTeam team({{0}, false});
  ExpertRunner runner(kernels::RefBackend(), team);
  std::mt19937 random(2);
  Picks picks(home, 2, random);
  int asked = 0;
  EXPECT_FALSE(runner.Run(picks.args, [&] { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
}

TEST(SelfTest, PassesOnEveryBackendOfThisHost) {
  ThreadTeam team({{0, 0}, false});
  for (const kernels::Backend* backend : Backends()) {
    const SelfTestReport report = RunSelfTest(*backend, team);
    EXPECT_TRUE(report.passed) << backend->name << ": " << report.detail;
    EXPECT_EQ(report.Summary(), "passed");
  }
}

TEST(SelfTest, FindsAKernelThatIsSlightlyWrong) {
  kernels::Backend wrong = kernels::RefBackend();
  wrong.expert_unit = [](const kernels::ExpertFfnArgs& args, kernels::ExpertPhase phase, kernels::Dim unit,
                         void* scratch) {
    kernels::RefBackend().expert_unit(args, phase, unit, scratch);
    const bool other = args.expert.gate.bits == 6 && args.expert.gate.codebook == kernels::Codebook::kMcg;
    if (other && phase == kernels::ExpertPhase::kDown && unit == 1) args.out[130] *= 1.01f;
  };
  ThreadTeam team({{0}, false});
  const SelfTestReport report = RunSelfTest(wrong, team);
  EXPECT_FALSE(report.passed);
  EXPECT_NE(report.Summary().find("K = 6, codebook 1"), std::string::npos) << report.Summary();
}

}  // namespace
}  // namespace hearth
