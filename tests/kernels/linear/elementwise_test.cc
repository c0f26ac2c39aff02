#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/backend.h"

namespace hearth::kernels {
namespace {

std::vector<const Backend*> Backends() {
  std::vector<const Backend*> all{&RefBackend()};
  if (HostHasAvx2()) all.push_back(&Avx2Backend());
  return all;
}

std::vector<float> Normal(Dim count, float deviation, std::mt19937& rng) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& v : values) v = normal(rng);
  return values;
}

TEST(Swiglu, MatchesTheFormulaAndAllBackendsAgree) {
  std::mt19937 rng(1);
  for (const Dim width : {1, 7, 8, 31, 256}) {
    const Dim rows = 5;
    const float limit = 6.5f;
    std::vector<float> gate = Normal(rows * width, 9, rng), up = Normal(rows * width, 9, rng);
    gate[0] = -200.0f;  // far past what exp can hold
    std::vector<float> first;
    for (const Backend* backend : Backends()) {
      std::vector<float> out(rows * width, NAN);
      backend->swiglu(backend->stream, {gate.data(), up.data(), rows, width, limit, out.data()});
      for (size_t i = 0; i < out.size(); ++i) {
        const double g = std::min<double>(gate[i], limit), u = std::clamp<double>(up[i], -limit, limit);
        EXPECT_NEAR(out[i], g / (1 + std::exp(-g)) * u, 4e-7 * std::fabs(g / (1 + std::exp(-g)) * u) + 1e-37)
            << backend->name;
      }
      if (first.empty()) first = out;
      EXPECT_EQ(std::memcmp(first.data(), out.data(), out.size() * 4), 0) << backend->name << " width " << width;
      std::vector<float> in_place = gate;
      backend->swiglu(backend->stream, {in_place.data(), up.data(), rows, width, limit, in_place.data()});
      EXPECT_EQ(in_place, out) << backend->name;
    }
  }
}

TEST(Swiglu, PassesNanOn) {
  for (const Backend* backend : Backends()) {
    std::vector<float> gate(16, 1.0f), up(16, 1.0f), out(16);
    gate[3] = NAN;
    up[9] = NAN;
    backend->swiglu(backend->stream, {gate.data(), up.data(), 1, 16, 7.0f, out.data()});
    for (int i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(out[i]), i == 3 || i == 9) << backend->name << " " << i;
  }
}

TEST(HeadLinear, MatchesTheFormulaAndAllBackendsAgree) {
  std::mt19937 rng(2);
  for (const auto& [heads, in, out] : {std::tuple<Dim, Dim, Dim>{1, 1, 1}, {3, 17, 70}, {4, 64, 128}, {2, 100, 13}}) {
    for (const Dim rows : {0, 1, 6}) {
      const std::vector<float> x = Normal(rows * heads * in, 1, rng), w = Normal(heads * in * out, 1, rng);
      std::vector<float> first;
      for (const Backend* backend : Backends()) {
        std::vector<float> y(rows * heads * out, NAN);
        backend->head_linear(backend->stream, {x.data(), rows, heads, in, out, w.data(), y.data()});
        for (Dim i = 0; i < rows * heads; ++i) {
          for (Dim c = 0; c < out; ++c) {
            double sum = 0;
            for (Dim k = 0; k < in; ++k) sum += double{x[i * in + k]} * w[((i % heads) * in + k) * out + c];
            ASSERT_NEAR(y[i * out + c], sum, 2e-6 * std::sqrt(static_cast<double>(in))) << backend->name;
          }
        }
        if (first.empty()) first = y;
        EXPECT_EQ(y, first) << backend->name;
      }
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
