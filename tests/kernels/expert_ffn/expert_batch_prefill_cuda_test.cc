#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/expert_ffn/expert_case.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;
using testing::RelativeError;

// Experts of one case, on the host and on the GPU.
struct Experts {
  std::vector<TestMatrix> matrices;
  std::vector<MlpView> host, gpu;
  DeviceCopy device;

  Experts(Case c, int count, float limit, std::mt19937& rng) {
    c.gate.in = c.up.in = c.hidden, c.gate.out = c.up.out = c.width;
    c.down.in = c.width, c.down.out = c.hidden;
    for (int i = 0; i < count; ++i) {
      MlpView view{.limit = limit};
      for (const auto& [spec, to] : {std::pair{&c.gate, &view.gate}, {&c.up, &view.up}, {&c.down, &view.down}}) {
        matrices.push_back(TestMatrix::Random(*spec, rng));
        *to = matrices.back().view();
      }
      host.push_back(view);
      gpu.push_back(device.Put(view));
    }
  }
};

struct BatchPicks {
  std::vector<float> x;
  std::vector<std::vector<int32_t>> x_row, out_row;
  Dim hidden, outputs = 0;

  // Output rows are shuffled over all jobs; the last three rows are nobody's.
  BatchPicks(const std::vector<Dim>& counts, Dim rows, Dim hidden_, std::mt19937& rng)
      : x(rows * hidden_), hidden(hidden_) {
    std::normal_distribution<float> normal(0, 2);
    for (float& v : x) v = normal(rng);
    for (const Dim count : counts) outputs += count;
    std::vector<int32_t> order(outputs);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), rng);
    auto next = order.begin();
    for (const Dim count : counts) {
      out_row.emplace_back(next, next + count);
      next += count;
      for (x_row.emplace_back(); static_cast<Dim>(x_row.back().size()) < count;) {
        x_row.back().push_back(static_cast<int32_t>(rng() % rows));
      }
    }
    outputs += 3;
  }
  std::vector<ExpertJob> Jobs(const std::vector<MlpView>& experts) const {
    std::vector<ExpertJob> jobs;
    for (size_t i = 0; i < x_row.size(); ++i) {
      jobs.push_back(
          {experts[i % experts.size()], x_row[i].data(), out_row[i].data(), static_cast<Dim>(x_row[i].size())});
    }
    return jobs;
  }
};

std::vector<float> OnGpu(const BatchPicks& picks, std::vector<ExpertJob> jobs,
                         PrefillOperands operands = PrefillOperands::kF16) {
  DeviceCopy device;
  float* out = device.Poisoned<float>(picks.outputs * picks.hidden);
  CudaBackend(operands).expert_batch(CudaBackend().stream, {.jobs = jobs.data(),
                                                            .job_count = static_cast<Dim>(jobs.size()),
                                                            .x = device.Put(picks.x),
                                                            .out = out,
                                                            .hidden = picks.hidden,
                                                            .phase = Phase::kPrefill});
  return device.Get(out, picks.outputs * picks.hidden);
}

// Both roundings of activations to fp16 (2^-11 each); the first passes through the product of gate and up, which
// doubles it, and through the slope of silu, at most 1.1.
double Bound(const Case& c, PrefillOperands operands) {
  const bool exl3 =
      c.gate.kind == WeightKind::kExl3 || c.up.kind == WeightKind::kExl3 || c.down.kind == WeightKind::kExl3;
  return exl3 && operands == PrefillOperands::kF16 ? 4 * 0x1p-11 : 4 * 60 * 0x1p-23;
}

TEST(ExpertBatchPrefillCuda, MatchesTheReference) {
  std::mt19937 rng(1);
  for (const Case& c : Cases()) {
    Experts experts(c, 5, 2.5f, rng);
    const BatchPicks picks({130, 0, 1, 57, 5}, 200, c.hidden, rng);
    std::vector<float> want(picks.outputs * c.hidden, NAN);
    const std::vector<ExpertJob> host_jobs = picks.Jobs(experts.host);
    RefBackend().expert_batch(nullptr, {.jobs = host_jobs.data(),
                                        .job_count = static_cast<Dim>(host_jobs.size()),
                                        .x = picks.x.data(),
                                        .out = want.data(),
                                        .hidden = c.hidden});
    want.resize((picks.outputs - 3) * c.hidden);
    for (const PrefillOperands operands : {PrefillOperands::kF16, PrefillOperands::kF16x2}) {
      std::vector<float> got = OnGpu(picks, picks.Jobs(experts.gpu), operands);
      for (Dim i = (picks.outputs - 3) * c.hidden; i < picks.outputs * c.hidden; ++i) {
        ASSERT_TRUE(std::isnan(got[i])) << c.name << ": a row that nobody has was written";
      }
      got.resize(want.size());
      const double error = RelativeError(got, want), bound = Bound(c, operands);
      std::printf("expert_batch prefill %s, %lld x %lld: error %.2e, allowed %.2e\n", c.name,
                  static_cast<long long>(c.hidden), static_cast<long long>(c.width), error, bound);
      EXPECT_LE(error, bound) << c.name;
    }
  }
}

TEST(ExpertBatchPrefillCuda, NeitherOtherJobsNorOtherPicksShow) {
  std::mt19937 rng(2);
  for (const Case& c : Cases()) {
    Experts experts(c, 40, 10.0f, rng);
    std::vector<Dim> counts;
    for (int i = 0; i < 40; ++i) counts.push_back(static_cast<Dim>(rng() % 150));
    const BatchPicks picks(counts, 100, c.hidden, rng);
    const std::vector<ExpertJob> jobs = picks.Jobs(experts.gpu);
    const std::vector<float> together = OnGpu(picks, jobs);
    for (const size_t i : {size_t{0}, size_t{16}, size_t{39}}) {
      ExpertJob job = jobs[i];
      if (job.picks > 3) job.x_row += 2, job.out_row += 2, job.picks -= 3;
      const std::vector<float> alone = OnGpu(picks, {job});
      for (Dim p = 0; p < job.picks; ++p) {
        const Dim at = job.out_row[p] * c.hidden;
        ASSERT_TRUE(std::equal(alone.begin() + at, alone.begin() + at + c.hidden, together.begin() + at))
            << c.name << " job " << i << " pick " << p;
      }
    }
  }
}

TEST(ExpertBatchPrefillCuda, MorePicksThanAGroupHas) {
  std::mt19937 rng(3);
  const Case c = Cases()[2];
  Experts experts(c, 3, 10.0f, rng);
  const BatchPicks picks({10, 9000, 20}, 50, c.hidden, rng);
  const std::vector<ExpertJob> jobs = picks.Jobs(experts.gpu);
  const std::vector<float> together = OnGpu(picks, jobs);
  for (const Dim first : {0, 4095, 8990}) {
    ExpertJob job = jobs[1];
    job.x_row += first, job.out_row += first, job.picks = 10;
    const std::vector<float> alone = OnGpu(picks, {job});
    for (Dim p = 0; p < job.picks; ++p) {
      const Dim at = job.out_row[p] * c.hidden;
      ASSERT_TRUE(std::equal(alone.begin() + at, alone.begin() + at + c.hidden, together.begin() + at)) << first + p;
    }
  }
}

TEST(ExpertBatchPrefillCuda, RepeatsGiveTheSameBits) {
  std::mt19937 rng(4);
  const Case c = Cases()[0];
  Experts experts(c, 12, 10.0f, rng);
  const BatchPicks picks({130, 7, 260, 1, 44, 90, 3, 128, 129, 60, 8, 200}, 300, c.hidden, rng);
  const std::vector<ExpertJob> jobs = picks.Jobs(experts.gpu);
  DeviceCopy device;
  const ExpertBatchArgs args{.jobs = jobs.data(),
                             .job_count = static_cast<Dim>(jobs.size()),
                             .x = device.Put(picks.x),
                             .out = device.Poisoned<float>(picks.outputs * c.hidden),
                             .hidden = c.hidden,
                             .phase = Phase::kPrefill};
  const Dim written = (picks.outputs - 3) * c.hidden;
  CudaBackend().expert_batch(CudaBackend().stream, args);
  const std::vector<float> first = device.Get(args.out, written);
  for (int i = 0; i < 100; ++i) CudaBackend().expert_batch(CudaBackend().stream, args);
  EXPECT_EQ(device.Get(args.out, written), first);
}

}  // namespace
}  // namespace hearth::kernels
