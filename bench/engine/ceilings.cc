#include "bench/engine/ceilings.h"

#include <algorithm>
#include <vector>

#include "bench/engine/streams.h"
#include "kernels/device_array.h"

namespace hearth {
namespace {

constexpr int kRepeats = 5;
constexpr uint64_t kGatherBytes = 1'500'000'000, kCopyBytes = 2'600'000'000;

// Runs `work` on the backend's stream; the median of its seconds.
template <typename F>
double Time(const kernels::Backend& backend, F work) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    backend.memory->synchronize(backend.stream);
    const double begin = Now();
    work();
    backend.memory->synchronize(backend.stream);
    seconds.push_back(Now() - begin);
  }
  return MedianOf(seconds);
}

class Gatherer {
 public:
  Gatherer(ModelEngine& engine, int batch)
      : home_(engine.home()), backend_(engine.backend()), batch_(batch), x_(backend_), out_(backend_) {
    x_.Assign(std::vector<kernels::Real>(home_.hidden(), 0.5f));
    out_.Grow(int64_t{batch} * home_.hidden());
    for (int i = 0; i < batch; ++i) rows_.push_back(i);
  }

  // GB/s over `count` records, record(i) being where the i-th lies.
  template <typename F>
  double Run(int64_t count, F record) {
    const int64_t experts = home_.experts();
    const double seconds = Time(backend_, [&] {
      std::vector<kernels::ExpertJob> jobs;
      for (int64_t i = 0; i < count; ++i) {
        const auto layer = static_cast<uint32_t>(i / experts % home_.layers()),
                   expert = static_cast<uint32_t>(i % experts);
        jobs.push_back({.expert = home_.Expert(layer, expert, record(i)),
                        .x_row = &zero_,
                        .out_row = &rows_[jobs.size()],
                        .picks = 1});
        if (static_cast<int>(jobs.size()) < batch_ && i + 1 < count) continue;
        backend_.expert_batch(backend_.stream, {.jobs = jobs.data(),
                                                .job_count = static_cast<kernels::Dim>(jobs.size()),
                                                .x = x_.data(),
                                                .out = out_.data(),
                                                .hidden = home_.hidden(),
                                                .phase = kernels::Phase::kDecode});
        jobs.clear();
      }
    });
    return static_cast<double>(count) * static_cast<double>(home_.record_stride()) / seconds / 1e9;
  }

 private:
  const HomeView& home_;
  const kernels::Backend& backend_;
  const int batch_;
  kernels::DeviceArray<kernels::Real> x_, out_;
  std::vector<int32_t> rows_;
  const int32_t zero_ = 0;
};

}  // namespace

Ceilings MeasureCeilings(ModelEngine& engine) {
  const HomeView& home = engine.home();
  const kernels::Backend& backend = engine.backend();
  const auto stride = static_cast<int64_t>(home.record_stride());
  const int64_t all = int64_t{home.layers()} * home.experts();
  const int64_t count = std::clamp<int64_t>(static_cast<int64_t>(kGatherBytes) / stride, 1, all);
  const int many = engine.model().num_experts_per_tok;
  const auto in_home = [&](int64_t i) {
    return home.record(static_cast<uint32_t>(i / home.experts()), static_cast<uint32_t>(i % home.experts()));
  };
  Ceilings out;
  out.home_one = Gatherer(engine, 1).Run(count, in_home);
  out.home_many = Gatherer(engine, many).Run(count, in_home);
  {
    // A cache that fills the card leaves no room, so it gives up as many slots as there are copies.
    const int64_t spare = std::max<int64_t>(engine.memory().expert_slots - many, 1);
    const int64_t copies = std::clamp<int64_t>(static_cast<int64_t>(kCopyBytes) / stride, 1, std::min(all, spare));
    ExecutorOptions smaller = engine.executor_options();
    smaller.max_slots = std::max<int64_t>(engine.memory().expert_slots - copies, many);
    engine.RestartExperts(smaller);
    kernels::DeviceArray<std::byte> slots(backend);
    slots.Grow(copies * stride);
    const double seconds = Time(backend, [&] {
      for (int64_t i = 0; i < copies; ++i) {
        backend.memory->upload(backend.stream, slots.data() + i * stride, in_home(i), static_cast<size_t>(stride));
      }
    });
    out.copy = static_cast<double>(copies * stride) / seconds / 1e9;
    out.slots_many =
        Gatherer(engine, many).Run(std::min(count, copies), [&](int64_t i) { return slots.data() + i * stride; });
  }
  engine.RestartExperts(engine.executor_options());
  return out;
}

}  // namespace hearth
