#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/expert_ffn/expert_case.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;

// Three products of LinearDecodeCuda's error, the last on the activation of the first two.
constexpr double kBound = 6e-6;

std::vector<Case> CasesWithTheRealShape() {
  std::vector<Case> cases = Cases();
  Case real = cases.front();
  real.name = "real shape";
  real.hidden = 4096;
  real.width = 2048;
  cases.push_back(real);
  return cases;
}

struct DeviceExpert {
  Expert on_host;
  MlpView host, device;
  DeviceExpert(const Case& c, std::mt19937& rng, DeviceCopy& copy)
      : on_host(c, 2.5f, rng), host(on_host.view), device(copy.Put(host)) {}
};

// Jobs that write rows 1, 2, .. in some order; row 0 and the last stay untouched.
struct Batch {
  static constexpr Dim kInputs = 13;
  DeviceCopy copy;
  std::vector<std::unique_ptr<DeviceExpert>> experts;
  std::vector<std::vector<int32_t>> x_rows, out_rows;
  std::vector<float> x;
  float* x_device;
  Dim hidden, outputs = 2;

  Batch(const Case& c, const std::vector<Dim>& picks, std::mt19937& rng) : x(kInputs * c.hidden), hidden(c.hidden) {
    std::normal_distribution<float> normal(0, 4);
    for (float& v : x) v = normal(rng);
    x_device = copy.Put(x);
    for (const Dim count : picks) {
      experts.push_back(std::make_unique<DeviceExpert>(c, rng, copy));
      std::vector<int32_t>& in = x_rows.emplace_back();
      std::vector<int32_t>& out = out_rows.emplace_back();
      for (Dim i = 0; i < count; ++i) {
        in.push_back(static_cast<int32_t>(rng() % kInputs));
        out.push_back(static_cast<int32_t>(outputs - 1 + count - 1 - i));
      }
      outputs += count;
    }
  }
  ExpertJob Job(size_t i, bool on_device) const {
    return {on_device ? experts[i]->device : experts[i]->host, x_rows[i].data(), out_rows[i].data(),
            static_cast<Dim>(x_rows[i].size())};
  }
  std::vector<float> OnDevice(const std::vector<ExpertJob>& jobs) {
    float* out = copy.Poisoned<float>(outputs * hidden);
    const Backend& b = DeviceCopy::backend();
    b.expert_batch(b.stream, {jobs.data(), static_cast<Dim>(jobs.size()), x_device, out, hidden, Phase::kDecode});
    return copy.Get(out, outputs * hidden);
  }
  std::vector<float> OnDevice() {
    std::vector<ExpertJob> jobs;
    for (size_t i = 0; i < experts.size(); ++i) jobs.push_back(Job(i, true));
    return OnDevice(jobs);
  }
  std::vector<float> OnHost() const {
    std::vector<float> out(outputs * hidden, NAN);
    std::vector<ExpertJob> jobs;
    for (size_t i = 0; i < experts.size(); ++i) jobs.push_back(Job(i, false));
    const Backend& b = HostHasAvx2() ? Avx2Backend() : RefBackend();
    b.expert_batch(nullptr, {jobs.data(), static_cast<Dim>(jobs.size()), x.data(), out.data(), hidden});
    return out;
  }
};

std::vector<float> RowsOf(const std::vector<float>& all, Dim hidden, const std::vector<int32_t>& rows) {
  std::vector<float> some;
  for (const int32_t r : rows) some.insert(some.end(), all.begin() + r * hidden, all.begin() + (r + 1) * hidden);
  return some;
}

TEST(ExpertBatchDecodeCuda, EqualsTheHost) {
  std::mt19937 rng(1);
  for (const Case& c : CasesWithTheRealShape()) {
    const bool real = c.hidden == 4096;
    Batch batch(c, real ? std::vector<Dim>{1, 3} : std::vector<Dim>{1, 0, 3, 8, 9, 20, 2}, rng);
    const std::vector<float> got = batch.OnDevice(), want = batch.OnHost();
    double worst = 0;
    for (const auto& rows : batch.out_rows) {
      worst = std::max(worst, testing::RelativeError(RowsOf(got, c.hidden, rows), RowsOf(want, c.hidden, rows)));
    }
    std::printf("expert batch decode, %s, %d -> %d: error %.2g\n", c.name, static_cast<int>(c.hidden),
                static_cast<int>(c.width), worst);
    EXPECT_LE(worst, kBound) << c.name;
    for (Dim h = 0; h < c.hidden; ++h) {
      ASSERT_TRUE(std::isnan(got[h])) << "row 0 was written";
      ASSERT_TRUE(std::isnan(got[(batch.outputs - 1) * c.hidden + h])) << "the last row was written";
    }
  }
}

TEST(ExpertBatchDecodeCuda, AJobDoesNotDependOnOthersNorAPickOnOtherPicks) {
  std::mt19937 rng(2);
  for (const Case& c : {CasesWithTheRealShape()[0], CasesWithTheRealShape()[5]}) {
    std::vector<Dim> picks(40, 1);  // more than fit into one launch
    picks[3] = 11;
    picks[17] = 8;
    Batch batch(c, picks, rng);
    const std::vector<float> all = batch.OnDevice();
    for (const size_t i : {size_t{0}, size_t{3}, size_t{17}, size_t{39}}) {
      const auto& rows = batch.out_rows[i];
      const std::vector<float> want = RowsOf(all, c.hidden, rows);
      const std::vector<float> job = RowsOf(batch.OnDevice({batch.Job(i, true)}), c.hidden, rows);
      EXPECT_EQ(std::memcmp(job.data(), want.data(), want.size() * sizeof(float)), 0) << c.name << " job " << i;
      ExpertJob one = batch.Job(i, true);
      one.x_row += one.picks - 1;
      one.out_row += one.picks - 1;
      one.picks = 1;
      const std::vector<float> pick = RowsOf(batch.OnDevice({one}), c.hidden, {rows.back()});
      EXPECT_EQ(std::memcmp(pick.data(), want.data() + want.size() - pick.size(), pick.size() * sizeof(float)), 0)
          << c.name << " job " << i;
    }
  }
}

TEST(ExpertBatchDecodeCuda, ExpertsOfDifferentShapesInOneBatch) {
  std::mt19937 rng(3);
  Case other = CasesWithTheRealShape()[1];
  other.hidden = CasesWithTheRealShape()[0].hidden;
  other.width = 384;
  Batch batch(CasesWithTheRealShape()[0], {2, 1, 1}, rng);
  batch.experts[1] = std::make_unique<DeviceExpert>(other, rng, batch.copy);
  const std::vector<float> got = batch.OnDevice(), want = batch.OnHost();
  for (const auto& rows : batch.out_rows) {
    EXPECT_LE(testing::RelativeError(RowsOf(got, batch.hidden, rows), RowsOf(want, batch.hidden, rows)), kBound);
  }
}

TEST(ExpertBatchDecodeCuda, EveryRunAndEveryPlaceGivesTheSameBits) {
  std::mt19937 rng(4);
  const Case c = CasesWithTheRealShape().back();
  Batch batch(c, {2, 1}, rng);
  const std::vector<float> first = batch.OnDevice();
  for (int i = 0; i < 100; ++i) {
    const std::vector<float> again = batch.OnDevice();
    ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0) << "run " << i;
  }
  // The weights in host memory, read in place.
  const MemoryOps& memory = *DeviceCopy::backend().memory;
  std::vector<void*> pinned;
  const auto to_host = [&](MatrixView on_device, const MatrixView& on_host) {
    pinned.push_back(memory.allocate_host(static_cast<size_t>(on_host.bytes())));
    std::memcpy(pinned.back(), on_host.data, static_cast<size_t>(on_host.bytes()));
    on_device.data = pinned.back();
    return on_device;
  };
  std::vector<ExpertJob> jobs;
  for (size_t i = 0; i < 2; ++i) {
    ExpertJob job = batch.Job(i, true);
    const MlpView& host = batch.experts[i]->host;
    job.expert = {to_host(job.expert.gate, host.gate), to_host(job.expert.up, host.up),
                  to_host(job.expert.down, host.down), host.limit};
    jobs.push_back(job);
  }
  const std::vector<float> mapped = batch.OnDevice(jobs);
  EXPECT_EQ(std::memcmp(first.data(), mapped.data(), first.size() * sizeof(float)), 0) << "weights in host memory";
  for (void* p : pinned) memory.release_host(p);
}

}  // namespace
}  // namespace hearth::kernels
