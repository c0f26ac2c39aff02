#include "kernels/router/router.h"

#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

class RouterTest : public OpTest {};

struct Case {
  Dim rows, hidden, experts, top_k;
  Floats x, weight, bias;
  float scale = 2.5f;
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

Result Route(const Backend& ops, const Case& c, Dim first, Dim rows) {
  Result out{std::vector<int32_t>(rows * c.top_k, -1), Poisoned(rows * c.top_k)};
  RouterArgs args;
  args.x = c.x.data() + first * c.hidden;
  args.weight = c.weight.data();
  args.bias = c.bias.data();
  args.rows = rows;
  args.hidden = c.hidden;
  args.experts = c.experts;
  args.top_k = c.top_k;
  args.scale = c.scale;
  args.ids = out.ids.data();
  args.weights = out.weights.data();
  ops.router(nullptr, args);
  return out;
}

TEST_P(RouterTest, EqualsTheFormulaInDoublePrecision) {
  const Dim shapes[][3] = {{1, 1, 1}, {5, 3, 2}, {16, 33, 4}, {61, 32, 8}, {256, 32, 4}, {100, 71, 5}, {1024, 288, 8}};
  for (const auto& [hidden, experts, top_k] : shapes) {
    const Case c = MakeCase(19, hidden, experts, top_k);
    const Result got = Route(Ops(), c, 0, c.rows);
    Doubles want;
    for (Dim r = 0; r < c.rows; ++r) {
      Doubles s;
      std::vector<std::pair<double, int32_t>> order;  // (-choice, id)
      for (Dim e = 0; e < experts; ++e) {
        double logit = 0;
        for (Dim i = 0; i < hidden; ++i) {
          logit += static_cast<double>(c.weight[e * hidden + i]) * c.x[r * hidden + i];
        }
        s.push_back(Sigma(logit));
        order.emplace_back(-(s.back() + c.bias[e]), static_cast<int32_t>(e));
      }
      std::sort(order.begin(), order.end());
      std::vector<int32_t> ids;
      double sum = 1e-20;
      for (Dim k = 0; k < top_k; ++k) ids.push_back(order[k].second);
      std::sort(ids.begin(), ids.end());
      if (top_k < experts) {  // the data leave a gap far above fp32 error, so the choice must be exact
        ASSERT_GT(order[top_k].first - order[top_k - 1].first, 1e-6);
      }
      for (int32_t id : ids) sum += s[id];
      for (int32_t id : ids) want.push_back(c.scale * s[id] / sum);
      EXPECT_EQ(std::vector<int32_t>(got.ids.begin() + r * top_k, got.ids.begin() + (r + 1) * top_k), ids);
    }
    EXPECT_TRUE(Close(got.weights, want, 3e-6)) << hidden << " wide, " << experts << " experts";
  }
}

TEST_P(RouterTest, TiesGoToTheLowerId) {
  Case c = MakeCase(3, 24, 40, 6);
  for (Dim e = 0; e < 40; ++e) {  // experts 3, 13, 23, 33 are one another's copies and the best; 7 and 17 come next
    const double bias = e % 10 == 3 ? 9.0 : e == 7 || e == 17 || e == 27 ? 8.0 : 0.0;
    c.bias[e] = static_cast<float>(bias);
    for (Dim i = 0; i < 24; ++i) {
      if (e % 10 == 3 || e % 10 == 7) c.weight[e * 24 + i] = c.weight[(e % 10) * 24 + i];
    }
  }
  const Result got = Route(Ops(), c, 0, 3);
  for (Dim r = 0; r < 3; ++r) {
    EXPECT_EQ(std::vector<int32_t>(got.ids.begin() + r * 6, got.ids.begin() + (r + 1) * 6),
              (std::vector<int32_t>{3, 7, 13, 17, 23, 33}));
  }
  // -0 and +0 are one value: sigma is about 0 for all, and biases are zeros of both signs.
  Case zeros = MakeCase(1, 1, 6, 2);
  zeros.x = {1.0f};
  zeros.weight = Floats(6, -200.0f);
  zeros.bias = {-0.0f, 0.0f, -0.0f, 0.0f, 0.0f, 0.0f};
  EXPECT_EQ(Route(Ops(), zeros, 0, 1).ids, (std::vector<int32_t>{0, 1}));
}

TEST_P(RouterTest, RowAloneHasTheSameBits) {
  const Case c = MakeCase(35, 77, 45, 7);
  const Result all = Route(Ops(), c, 0, 35);
  for (Dim r = 0; r < 35; ++r) {
    const Result one = Route(Ops(), c, r, 1);
    EXPECT_TRUE(SameBits(one.weights, Rows(all.weights, 7, r, 1)));
    EXPECT_TRUE(std::equal(one.ids.begin(), one.ids.end(), all.ids.begin() + r * 7));
  }
  ThreadsForTest one_thread(1);
  EXPECT_TRUE(SameBits(Route(Ops(), c, 0, 35).weights, all.weights));
}

HEARTH_OP_TESTS(RouterTest);

class MoeCombineTest : public OpTest {};

TEST_P(MoeCombineTest, AddsPicksInOrderThenTheSharedExpert) {
  for (Dim hidden : {1, 9, 256}) {
    constexpr Dim kRows = 5, kTopK = 3;
    Numbers numbers(static_cast<uint64_t>(hidden));
    const Floats picks = numbers.Some(kRows * kTopK * hidden), weights = numbers.Some(kRows * kTopK, 0.5, 1.0);
    const Floats shared = numbers.Some(kRows * hidden);
    Floats want;  // the order is part of the contract, so the bits are
    for (Dim r = 0; r < kRows; ++r) {
      for (Dim d = 0; d < hidden; ++d) {
        float sum = 0;
        for (Dim k = 0; k < kTopK; ++k) {
          sum = std::fma(weights[r * kTopK + k], picks[(r * kTopK + k) * hidden + d], sum);
        }
        want.push_back(sum + shared[r * hidden + d]);
      }
    }
    Floats y = Poisoned(kRows * hidden);
    Ops().moe_combine(nullptr, {picks.data(), weights.data(), shared.data(), kRows, kTopK, hidden, y.data()});
    EXPECT_TRUE(SameBits(y, want));
    Floats in_place = shared;
    Ops().moe_combine(nullptr, {picks.data(), weights.data(), in_place.data(), kRows, kTopK, hidden, in_place.data()});
    EXPECT_TRUE(SameBits(in_place, want));
  }
}

HEARTH_OP_TESTS(MoeCombineTest);

}  // namespace
}  // namespace hearth::kernels
