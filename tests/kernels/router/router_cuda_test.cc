#include <cstdio>

#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/cuda/small_shapes.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;
using testing::Smaller;

struct Case {
  Dim rows, hidden, experts, top_k;
  Floats x, weight, bias;
};

Case MakeCase(Dim rows, Dim hidden, Dim experts, Dim top_k) {
  Numbers numbers(static_cast<uint64_t>(rows + hidden * 10 + experts * 1000 + top_k));
  Case c{rows, hidden, experts, top_k, numbers.Some(rows * hidden), {}, {}};
  c.weight = numbers.Some(experts * hidden, 3.0 / std::sqrt(static_cast<double>(hidden)));
  c.bias = numbers.Some(experts, 0.3);
  return c;
}

struct Result {
  std::vector<int32_t> ids;
  Floats weights;
};

Result Route(const Case& c, Dim first, Dim rows, Phase phase, int repeats = 1) {
  DeviceCopy device;
  RouterArgs args;
  args.x = device.Put(Rows(c.x, c.hidden, first, rows));
  args.weight = device.Put(c.weight);
  args.bias = device.Put(c.bias);
  args.rows = rows;
  args.hidden = c.hidden;
  args.experts = c.experts;
  args.top_k = c.top_k;
  args.scale = 2.5f;
  args.phase = phase;
  Result all;
  for (int i = 0; i < repeats; ++i) {
    args.ids = device.Poisoned<int32_t>(rows * c.top_k);
    args.weights = device.Poisoned<float>(rows * c.top_k);
    device.backend().router(device.backend().stream, args);
    const Result out{device.Get(args.ids, rows * c.top_k), device.Get(args.weights, rows * c.top_k)};
    if (i > 0) {
      EXPECT_EQ(out.ids, all.ids) << "repeat " << i;
      EXPECT_TRUE(SameBits(out.weights, all.weights)) << "repeat " << i;
    }
    all = out;
  }
  return all;
}

// Ids ascend, nothing left out is better than what was taken (beyond fp32 error), weights follow from the ids.
void Compare(const Case& c, Phase phase) {
  const Result got = Route(c, 0, c.rows, phase);
  double worst = 0;
  for (Dim r = 0; r < c.rows; ++r) {
    const auto id = got.ids.begin() + r * c.top_k;
    Doubles s;
    for (Dim e = 0; e < c.experts; ++e) {
      double logit = 0;
      for (Dim i = 0; i < c.hidden; ++i) {
        logit += static_cast<double>(c.weight[e * c.hidden + i]) * c.x[r * c.hidden + i];
      }
      s.push_back(Sigma(logit));
    }
    double least_in = 1e9, most_out = -1e9, sum = 1e-20;
    for (Dim k = 0; k < c.top_k; ++k) {
      ASSERT_TRUE(id[k] >= 0 && id[k] < c.experts && (k == 0 || id[k - 1] < id[k])) << "row " << r;
      sum += s[id[k]];
    }
    for (Dim e = 0; e < c.experts; ++e) {
      const double choice = s[e] + c.bias[e];
      if (std::find(id, id + c.top_k, e) != id + c.top_k) {
        least_in = std::min(least_in, choice);
      } else {
        most_out = std::max(most_out, choice);
      }
    }
    EXPECT_GE(least_in, most_out - 1e-6) << "row " << r;
    for (Dim k = 0; k < c.top_k; ++k) {
      worst = std::max(worst, std::fabs(got.weights[r * c.top_k + k] / (2.5 * s[id[k]] / sum) - 1));
    }
  }
  std::printf("router %s rows %lld hidden %lld experts %lld: weight error %.2e\n",
              phase == Phase::kPrefill ? "prefill" : "decode", static_cast<long long>(c.rows),
              static_cast<long long>(c.hidden), static_cast<long long>(c.experts), worst);
  EXPECT_LE(worst, 5e-6);
}

TEST(RouterCuda, AgreesWithTheFormula) {
  const Dim shapes[][3] = {{1, 1, 1},    {5, 3, 2},     {16, 33, 4},    {61, 32, 8},
                           {100, 71, 5}, {1024, 97, 8}, {4096, 288, 8}, {130, 300, 40}};
  for (const auto& [hidden, experts, top_k] : shapes) {
    const Dim rows = hidden == 4096 ? Smaller<Dim>(9, 2) : Smaller<Dim>(67, 9);
    const Case c = MakeCase(rows, hidden, experts, top_k);
    for (Phase phase : {Phase::kDecode, Phase::kPrefill}) Compare(c, phase);
  }
}

TEST(RouterCuda, TiesGoToTheLowerId) {
  for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
    Case c = MakeCase(3, 24, 40, 6);
    for (Dim e = 0; e < 40; ++e) {  // 3, 13, 23, 33 are one another's copies and the best; 7, 17, 27 come next
      c.bias[e] = e % 10 == 3 ? 9.0f : e == 7 || e == 17 || e == 27 ? 8.0f : 0.0f;
      for (Dim i = 0; i < 24; ++i) {
        if (e % 10 == 3 || e % 10 == 7) c.weight[e * 24 + i] = c.weight[(e % 10) * 24 + i];
      }
    }
    const Result got = Route(c, 0, 3, phase);
    for (Dim r = 0; r < 3; ++r) {
      EXPECT_EQ(std::vector<int32_t>(got.ids.begin() + r * 6, got.ids.begin() + (r + 1) * 6),
                (std::vector<int32_t>{3, 7, 13, 17, 23, 33}));
    }
    Case zeros = MakeCase(1, 1, 6, 2);
    zeros.x = {1.0f};
    zeros.weight = Floats(6, -200.0f);
    zeros.bias = {-0.0f, 0.0f, -0.0f, 0.0f, 0.0f, 0.0f};
    EXPECT_EQ(Route(zeros, 0, 1, phase).ids, (std::vector<int32_t>{0, 1}));
  }
}

TEST(RouterCuda, RowAloneHasTheSameBits) {
  for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
    for (Dim hidden : {77, 1024}) {
      const Dim rows = Smaller<Dim>(35, 6);
      const Case c = MakeCase(rows, hidden, 45, 7);
      const Result all = Route(c, 0, rows, phase);
      for (Dim r = 0; r < rows; ++r) {
        const Result one = Route(c, r, 1, phase);
        EXPECT_TRUE(SameBits(one.weights, Rows(all.weights, 7, r, 1)));
        EXPECT_TRUE(std::equal(one.ids.begin(), one.ids.end(), all.ids.begin() + r * 7));
      }
    }
  }
}

TEST(RouterCuda, HundredRepeatsHaveTheSameBits) {
  const Case c = MakeCase(70, 1024, 288, 8);
  Route(c, 0, 70, Phase::kDecode, 100);
  Route(c, 0, 70, Phase::kPrefill, 100);
}

TEST(MoeCombineCuda, HasTheReferencesBits) {
  for (Dim hidden : {1, 9, 256, 4096}) {
    constexpr Dim kRows = 5, kTopK = 3;
    Numbers numbers(static_cast<uint64_t>(hidden));
    const Floats picks = numbers.Some(kRows * kTopK * hidden), weights = numbers.Some(kRows * kTopK, 0.5, 1.0);
    const Floats shared = numbers.Some(kRows * hidden);
    Floats want = Poisoned(kRows * hidden);
    RefBackend().moe_combine(nullptr, {picks.data(), weights.data(), shared.data(), kRows, kTopK, hidden, want.data()});
    DeviceCopy device;
    float *in_place = device.Put(shared), *apart = device.Poisoned<float>(kRows * hidden);
    for (float* y : {apart, in_place}) {
      device.backend().moe_combine(device.backend().stream,
                                   {device.Put(picks), device.Put(weights), in_place, kRows, kTopK, hidden, y});
      EXPECT_TRUE(SameBits(device.Get(y, kRows * hidden), want)) << "hidden " << hidden;
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
