#include "cpu_tier/self_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/base/float16.h"
#include "common/base/status.h"
#include "cpu_tier/expert_runner.h"

namespace hearth {
namespace {

using kernels::Dim;
using kernels::Real;

// Both sides sum the same fp32 products, in another order at most.
constexpr double kTolerance = 1e-4;
constexpr Dim kHidden = 256, kWidth = 128, kPicks = 3;

// Any bits are valid codes, so random ones make a matrix.
struct RandomMatrix {
  std::vector<uint64_t> words;
  std::vector<uint16_t> suh, svh;
  MatrixView view;

  RandomMatrix(Dim in, Dim out, uint32_t bits, Codebook codebook, std::mt19937_64& random) {
    view.kind = WeightKind::kExl3;
    view.codebook = codebook;
    view.bits = bits;
    view.in_features = view.in_padded = in;
    view.out_features = view.out_padded = out;
    constexpr size_t kLine = 8;  // words
    words.resize(static_cast<size_t>(view.bytes()) / 8 + kLine);
    for (uint64_t& word : words) word = random();
    const uint16_t plus = FloatToF16(1), minus = FloatToF16(-1);
    for (Dim i = 0; i < in; ++i) suh.push_back(random() % 2 == 0 ? plus : minus);
    const uint16_t scale = FloatToF16(1 / std::sqrt(static_cast<float>(in)));
    svh.assign(static_cast<size_t>(out), scale);
    view.data = words.data() + (kLine - reinterpret_cast<uintptr_t>(words.data()) / 8 % kLine) % kLine;
    view.suh = suh.data();
    view.svh = svh.data();
  }
};

double RelativeError(const std::vector<Real>& got, const std::vector<Real>& truth) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(got[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(static_cast<double>(truth[i])));
    difference = std::max(difference, std::abs(static_cast<double>(got[i]) - static_cast<double>(truth[i])));
  }
  return largest > 0 ? difference / largest : std::numeric_limits<double>::infinity();
}

}  // namespace

SelfTestReport RunSelfTest(const kernels::ExpertKernel& kernel, kernels::ExpertArithmetic arithmetic,
                           ThreadTeam& team) {
  SelfTestReport report;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<Real> x(static_cast<size_t>(kPicks * kHidden));
  for (Real& value : x) value = normal(random);
  const std::vector<int32_t> rows = {2, 0, 1};
  ExpertRunner runner(kernel, team), plain(kernels::GetExpertKernel(kernels::ExpertIsa::kRef, arithmetic), team);
  for (uint32_t codebook = 0; codebook <= static_cast<uint32_t>(Codebook::kMul1); ++codebook) {
    for (uint32_t bits = 1; bits <= 8; ++bits) {
      const auto book = static_cast<Codebook>(codebook);
      const RandomMatrix gate(kHidden, kWidth, bits, book, random), up(kHidden, kWidth, bits, book, random),
          down(kWidth, kHidden, bits, book, random);
      std::vector<Real> got(x.size()), truth(x.size());
      kernels::ExpertFfnArgs args{
          {gate.view, up.view, down.view, 10}, x.data(), rows.data(), got.data(), rows.data(), kPicks, kHidden};
      runner.Run({args}, nullptr);
      args.out = truth.data();
      plain.Run({args}, nullptr);
      const double error = RelativeError(got, truth);
      if (error <= report.worst_relative_error) continue;
      report.worst_relative_error = error;
      report.detail = StrCat(kernel.name(), ", K = ", bits, ", codebook ", codebook, ": relative error ", error,
                             ", at most ", kTolerance, " expected");
    }
  }
  report.passed = report.worst_relative_error <= kTolerance;
  return report;
}

}  // namespace hearth
