#include "cpu_tier/expert_runner.h"

#include <algorithm>

#include "common/ipc/wait_strategy.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;
using kernels::ExpertFfnArgs;

constexpr size_t kAlign = 64;
constexpr auto kNap = 10s;  // of one sleep; units end by themselves

size_t RoundUp(size_t value) { return (value + kAlign - 1) / kAlign * kAlign; }

}  // namespace

std::byte* ExpertRunner::Scratch(size_t bytes) {
  if (memory_.size() < bytes + kAlign) memory_.resize(bytes + kAlign);
  return memory_.data() + (kAlign - reinterpret_cast<uintptr_t>(memory_.data()) % kAlign);
}

void ExpertRunner::Plan(const std::vector<ExpertFfnArgs>& experts) {
  scratch_at_.clear();
  scratch_bytes_ = 0;
  for (const ExpertFfnArgs& args : experts) {
    scratch_at_.push_back(scratch_bytes_);
    scratch_bytes_ += RoundUp(static_cast<size_t>(kernel_.ScratchBytes(args.expert, args.picks)));
  }
  spans_.clear();
  last_span_.assign(experts.size(), -1);
  units_ = 0;
  for (int p = 0; p < kernels::kExpertPhases; ++p) {
    const auto phase = static_cast<kernels::ExpertPhase>(p);
    for (uint32_t e = 0; e < experts.size(); ++e) {
      const auto units = static_cast<uint32_t>(kernel_.Units(experts[e].expert, experts[e].picks, phase));
      if (units == 0) continue;
      spans_.push_back({units_, units, e, phase, last_span_[e]});
      last_span_[e] = static_cast<int>(spans_.size()) - 1;
      units_ += units;
    }
  }
  if (done_room_ < spans_.size()) {
    done_room_ = spans_.size();
    done_ = std::make_unique<std::atomic<uint32_t>[]>(done_room_);
  }
  for (size_t i = 0; i < spans_.size(); ++i) done_[i].store(0, std::memory_order_relaxed);
}

const ExpertRunner::Span& ExpertRunner::SpanOf(uint32_t unit) const {
  const auto after =
      std::upper_bound(spans_.begin(), spans_.end(), unit, [](uint32_t u, const Span& span) { return u < span.first; });
  return *(after - 1);
}

void ExpertRunner::Await(int span) {
  if (span < 0) return;
  const uint32_t units = spans_[static_cast<size_t>(span)].units;
  // The acquire of the wait pairs with the release in Finish.
  while (!WaitUntil(
      done_[static_cast<size_t>(span)], [units](uint32_t done) { return done == units; }, Deadline::After(kNap),
      team_.spin())) {
  }
}

void ExpertRunner::Finish(const Span& span) {
  std::atomic<uint32_t>& done = done_[static_cast<size_t>(&span - spans_.data())];
  if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == span.units) FutexWake(done);
}

bool ExpertRunner::Run(const std::vector<ExpertFfnArgs>& experts, const std::function<bool()>& abandoned) {
  Plan(experts);
  std::byte* const scratch = Scratch(scratch_bytes_);
  std::atomic<bool> gone{false};
  team_.ForEach(units_, [&](uint32_t unit) {
    const Span& span = SpanOf(unit);
    Await(span.before);
    if (!gone.load(std::memory_order_relaxed) && abandoned && abandoned()) gone.store(true, std::memory_order_relaxed);
    // Units of an abandoned job still count, or others would wait for them.
    if (!gone.load(std::memory_order_relaxed)) {
      kernel_.Run(experts[span.expert], span.phase, unit - span.first, scratch + scratch_at_[span.expert]);
    }
    Finish(span);
  });
  return !gone.load(std::memory_order_relaxed);
}

}  // namespace hearth
