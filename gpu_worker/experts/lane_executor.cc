#include "gpu_worker/experts/lane_executor.h"

#include <algorithm>
#include <limits>

#include "common/base/check.h"
#include "common/base/cpu_info.h"
#include "gpu_worker/experts/executor_start.h"

namespace hearth {
namespace {

// Whole decode steps without a prefill call after which a prefill counts as given up and its slots come back.
constexpr int64_t kStepsUntilTakenBack = 4;
// Misses of a decode layer on average, below which there is too little to look ahead for.
constexpr double kFewMisses = 0.25;
constexpr double kBlendMisses = 1.0 / 256;

}  // namespace

LaneExecutor::LaneExecutor(const HomeView& home, const kernels::Backend& backend, const ExecutorOptions& options,
                           CpuLane* lane)
    : home_(home),
      backend_(backend),
      options_(options),
      lane_(options.exact || options.cpu_lane == CpuLaneMode::kNever ? nullptr : lane),
      cache_(home, PlanSlots(options, uint64_t{home.layers()} * home.experts(), home.record_stride()), backend),
      picked_(static_cast<size_t>(home.layers()) * home.experts()),
      prefill_(home, backend, cache_, stats_, options),
      cost_(StartConstants(home, backend, options)),
      pcie_(backend),
      ahead_(home, pcie_.backend(), options.look_ahead),
      timer_(backend),
      pcie_timer_(pcie_.backend()),
      batch_(backend, home),
      pcie_batch_(pcie_.backend(), home),
      random_(options.seed) {
  const auto lock = cache_.Lock();
  cache_.CopyCounters(stats_);
}

LaneExecutor::~LaneExecutor() = default;

std::vector<LaneExecutor::MemoryPart> LaneExecutor::memory() const {
  return {{"expert cache", cache_.arena_bytes()}, {"look-ahead", ahead_.bytes()}};
}

void LaneExecutor::WarmStart(const Popularity& earlier) {
  const auto experts = static_cast<int32_t>(home_.experts());
  std::vector<int32_t> filled;
  {
    const auto lock = cache_.Lock();
    const cache::View view = cache_.view();
    picked_.assign(picked_.size(), 0);
    decoded_tokens_ = 0;
    for (size_t key = 0; key < earlier.picks.size(); ++key) {
      cache::Expect(view, static_cast<int32_t>(key), earlier.picks[key]);
    }
    for (int32_t key : MostPopular(earlier)) {
      if (cache::FreeSlots(view) == 0) break;
      const int32_t slot = cache::Admit(view, key, cache::Admission::kAlways);
      if (slot < 0) continue;  // resident already
      cache_.Fill(slot, key / experts, key % experts, backend_.stream);
      filled.push_back(slot);
    }
    cache_.CopyCounters(stats_);
  }
  backend_.memory->synchronize(backend_.stream);
  cache_.Unpin(filled);
}

Popularity LaneExecutor::popularity() {
  Popularity seen{.layers = home_.layers(), .experts = home_.experts()};
  const auto lock = cache_.Lock();
  seen.tokens = decoded_tokens_;
  for (uint64_t picks : picked_) seen.picks.push_back(seen.tokens > 0 ? static_cast<double>(picks) / seen.tokens : 0);
  return seen;
}

Status LaneExecutor::Prefill(const MoeStep& step, int next_moe_layer, const std::function<bool()>& cancelled) {
  decode_layers_ = 0;
  timer_.Collect();
  pcie_timer_.Collect();
  return prefill_.Run(step, next_moe_layer, cancelled);
}

Status LaneExecutor::BeginDecode(const MoeStep& step) {
  HEARTH_CHECK(!open_, "BeginDecode twice without FinishDecode");
  open_ = true;
  timer_.Collect();  // the ids of this step are here, so the layer before is done
  pcie_timer_.Collect();
  if (prefill_.borrowing() && ++decode_layers_ > kStepsUntilTakenBack * home_.layers()) prefill_.ReturnSlots();
  picks_.Build(step.ids, step.rows, step.top_k, static_cast<int>(home_.experts()));

  const bool cpu_up = lane_ != nullptr && lane_->up();
  if (lane_ != nullptr) lane_->LetGo();
  const bool all_to_cpu = cpu_up && (options_.force == ForceSource::kCpu || options_.cpu_lane == CpuLaneMode::kAlways);
  TouchAndAdmit(step, !all_to_cpu && options_.force != ForceSource::kPcie);
  ChooseSources(cpu_up);
  PublishCpu(step);
  RunPcie(step);
  return Status::Ok();
}

void LaneExecutor::TouchAndAdmit(const MoeStep& step, bool admit) {
  const std::vector<PickGroup>& groups = picks_.groups();
  inputs_.assign(groups.size(), {});
  slot_of_group_.assign(groups.size(), cache::kNone);
  pinned_.clear();
  const auto lock = cache_.Lock();
  const cache::View view = cache_.view();
  const double tokens = static_cast<double>(step.rows) / home_.layers();
  cache::AdvanceTime(view, tokens);
  decoded_tokens_ += tokens;
  int misses = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const int32_t key = cache_.Key(step.moe_layer, groups[g].expert);
    slot_of_group_[g] = cache::Touch(view, key, groups[g].picks);
    picked_[static_cast<size_t>(key)] += static_cast<uint64_t>(groups[g].picks);
    const bool resident = slot_of_group_[g] >= 0;
    const bool ahead = !resident && ahead_.Find(step.moe_layer, groups[g].expert) != nullptr;
    inputs_[g] = {groups[g].picks, resident, ahead, false, view.score[key]};
    misses += resident ? 0 : 1;
    if (resident) pinned_.push_back(slot_of_group_[g]);
  }
  misses_ += kBlendMisses * (misses - misses_);
  const cache::Admission mode = options_.force == ForceSource::kHit ? cache::Admission::kAlways : options_.admission;
  for (size_t g = 0; admit && g < groups.size(); ++g) {
    if (inputs_[g].resident) continue;
    slot_of_group_[g] = cache::Admit(view, cache_.Key(step.moe_layer, groups[g].expert), mode);
    inputs_[g].admitted = slot_of_group_[g] >= 0;
    if (inputs_[g].admitted) pinned_.push_back(slot_of_group_[g]);
  }
  cache_.CopyCounters(stats_);
}

bool LaneExecutor::WantsHints() const {
  // A chunk's staged experts come first: a copy would stand behind gigabytes of them.
  if (ahead_.most() == 0 || prefill_.borrowing() || misses_ < kFewMisses) return false;
  const bool forced = options_.force == ForceSource::kPcie || options_.force == ForceSource::kCpu;
  return !forced && (lane_ == nullptr || options_.cpu_lane != CpuLaneMode::kAlways);
}

void LaneExecutor::ChooseSources(bool cpu_up) {
  PlacementRules rules{options_.cpu_lane, cpu_up};
  if (options_.force == ForceSource::kCpu) rules.cpu_lane = CpuLaneMode::kAlways;
  if (options_.force == ForceSource::kPcie || options_.force == ForceSource::kHit) rules.cpu_up = false;
  sources_ = Place(inputs_, cost_.now(), rules);
  for (size_t g = 0; g < sources_.size(); ++g) {
    if (options_.force == ForceSource::kPcie) sources_[g] = Source::kPcie;
    if (options_.force == ForceSource::kRandom && !inputs_[g].admitted) {
      const uint64_t draw = random_() % 3;
      sources_[g] = draw == 0 && cpu_up                ? Source::kCpu
                    : draw == 1 && inputs_[g].resident ? Source::kHit
                    : draw == 1 && inputs_[g].ahead    ? Source::kAhead
                                                       : Source::kPcie;
    }
  }
}

void LaneExecutor::PublishCpu(const MoeStep& step) {
  cpu_experts_.clear();
  cpu_weight_ = 0;
  published_ = false;
  for (size_t g = 0; g < sources_.size(); ++g) {
    if (sources_[g] != Source::kCpu) continue;
    const PickGroup& group = picks_.groups()[g];
    cpu_experts_.push_back({group.expert, picks_.x_rows(group)});
    cpu_weight_ += CpuWeight(cost_.now(), group.picks);
  }
  if (cpu_experts_.empty()) {
    if (lane_ != nullptr && lane_->up()) cost_.ObserveIdleCpu();
    return;
  }
  static const int usable_cpus = UsableCpuCount();
  const auto budget = CpuBudget(options_, CpuSeconds(cost_.now(), cpu_weight_), usable_cpus);
  published_at_ = std::chrono::steady_clock::now();
  cpu_deadline_ = Deadline::At(published_at_ + budget);
  published_ = lane_->Publish({step.moe_layer, step.x_host, step.rows, cpu_experts_, budget});
  if (published_) return;
  for (size_t g = 0; g < sources_.size(); ++g) {
    if (sources_[g] != Source::kCpu) continue;
    sources_[g] = inputs_[g].resident ? Source::kHit : inputs_[g].ahead ? Source::kAhead : Source::kPcie;
  }
}

Status LaneExecutor::FinishDecode(const MoeStep& step) {
  HEARTH_CHECK(open_, "FinishDecode without BeginDecode");
  open_ = false;
  RunHits(step);
  FetchAhead(step);
  if (published_) FinishCpu(step);
  pcie_.Join();
  cache_.Unpin(pinned_);
  return Status::Ok();
}

// Hits already resident when the step began; they do not wait for the bus.
void LaneExecutor::RunHits(const MoeStep& step) {
  timer_.Begin();
  for (size_t g = 0; g < sources_.size(); ++g) {
    if (sources_[g] != Source::kHit) continue;
    const PickGroup& group = picks_.groups()[g];
    batch_.Add(step, picks_, group, cache_.slot(slot_of_group_[g]));
    stats_.picks.vram.Add(static_cast<uint64_t>(group.picks));
    stats_.bytes.vram.Add(home_.record_stride());
  }
  const int experts = static_cast<int>(batch_.size());
  batch_.Run(step, kernels::Phase::kDecode);
  timer_.End([this, experts](double seconds) {
    AddSeconds(stats_.busy_ns.vram, seconds);
    cost_.ObserveHits(experts, seconds);
  });
}

// Misses are read in place; an admitted expert is copied into its slot on the way.
void LaneExecutor::RunPcie(const MoeStep& step) {
  pcie_timer_.Begin();
  for (size_t g = 0; g < sources_.size(); ++g) {
    if (sources_[g] != Source::kPcie) continue;
    const PickGroup& group = picks_.groups()[g];
    const std::byte* record = home_.record(static_cast<uint32_t>(step.moe_layer), static_cast<uint32_t>(group.expert));
    if (inputs_[g].admitted) {
      cache_.Fill(slot_of_group_[g], step.moe_layer, group.expert, pcie_.backend().stream);
      record = cache_.slot(slot_of_group_[g]);
    }
    pcie_batch_.Add(step, picks_, group, record);
    stats_.picks.pcie.Add(static_cast<uint64_t>(group.picks));
    stats_.bytes.pcie.Add(home_.record_stride());
  }
  const int experts = static_cast<int>(pcie_batch_.size());
  AddAhead(step);
  pcie_batch_.Run(step, kernels::Phase::kDecode);
  pcie_timer_.End([this, experts](double seconds) {
    AddSeconds(stats_.busy_ns.pcie, seconds);
    cost_.ObservePcie(experts, seconds);
  });
  pcie_.Mark();
}

// What was fetched ahead joins the misses' batch, whose stream is the one that copied it.
void LaneExecutor::AddAhead(const MoeStep& step) {
  for (size_t g = 0; g < sources_.size(); ++g) {
    if (sources_[g] != Source::kAhead) continue;
    const PickGroup& group = picks_.groups()[g];
    const std::byte* record = ahead_.Find(step.moe_layer, group.expert);
    if (inputs_[g].admitted) {
      std::byte* const slot = cache_.slot(slot_of_group_[g]);
      pcie_.backend().memory->copy(pcie_.backend().stream, slot, record, home_.record_stride());
    }
    pcie_batch_.Add(step, picks_, group, record);
    stats_.picks.staged.Add(static_cast<uint64_t>(group.picks));
    stats_.bytes.staged.Add(home_.record_stride());
    stats_.ahead_used.Add(1);
  }
}

// The next layer's misses, as far as its router can tell already. They cross the bus after this layer's, while the
// next layer's attention needs none of it.
void LaneExecutor::FetchAhead(const MoeStep& step) {
  const PickHints& hints = step.hints;
  if (hints.ids == nullptr || !WantsHints()) return ahead_.Forget();
  if (hints.ready != nullptr) backend_.streams->finish(hints.ready);
  std::vector<int32_t> experts;
  {
    const auto lock = cache_.Lock();
    const cache::View view = cache_.view();
    experts = ChooseAhead(hints.ids, hints.weights, step.rows, step.top_k, ahead_.most(), [&](int32_t expert) {
      return view.slot_of[cache_.Key(hints.moe_layer, expert)] == cache::kNone;
    });
  }
  stats_.ahead_fetched.Add(experts.size());
  ahead_.Fetch(hints.moe_layer, std::move(experts));
}

void LaneExecutor::FinishCpu(const MoeStep& step) {
  const auto wait_start = std::chrono::steady_clock::now();
  const CpuResult result = lane_->Wait(cpu_deadline_);
  const auto now = std::chrono::steady_clock::now();
  stats_.cpu_wait_ns.Add(static_cast<uint64_t>(std::chrono::nanoseconds(now - wait_start).count()));
  stats_.cpu_jobs.Add(1);
  stats_.cpu_experts.Add(cpu_experts_.size());
  if (result.outcome != CpuOutcome::kDone) {
    stats_.cpu_timeouts.Add(1);
    if (result.outcome == CpuOutcome::kLate) {  // a dead daemon says nothing about the speed of the next
      const double given_up_after = std::chrono::duration<double>(now - published_at_).count();
      cost_.ObserveLateCpu(cpu_weight_, given_up_after, static_cast<int>(cpu_experts_.size()));
    }
    RunLate(step);
    return;
  }
  CopyRows(step, result.rows);
  stats_.busy_ns.cpu.Add(static_cast<uint64_t>(result.daemon_seconds * 1e9));
  stats_.bytes.cpu.Add(cpu_experts_.size() * home_.record_stride());
  // The total tells the cost of the handover only if this thread was waiting when the job ended.
  const bool waited = now - wait_start > std::chrono::microseconds(20);
  const double total = waited ? std::chrono::duration<double>(now - published_at_).count() : 0;
  cost_.ObserveCpu(cpu_weight_, result.daemon_seconds, total);
}

void LaneExecutor::CopyRows(const MoeStep& step, const float* rows) {
  const auto hidden = static_cast<size_t>(home_.hidden());
  cpu_rows_.clear();
  for (size_t g = 0; g < sources_.size(); ++g) {
    if (sources_[g] != Source::kCpu) continue;
    for (int32_t row : picks_.out_rows(picks_.groups()[g])) {
      cpu_rows_.push_back({step.pick_out + static_cast<size_t>(row) * hidden, rows, hidden * sizeof(float)});
      rows += hidden;
    }
  }
  backend_.memory->copy_pieces(backend_.stream, cpu_rows_.data(), static_cast<int>(cpu_rows_.size()));
  stats_.picks.cpu.Add(cpu_rows_.size());
}

// Late, never wrong: the same step computes the daemon's picks itself.
void LaneExecutor::RunLate(const MoeStep& step) {
  timer_.Begin();
  for (size_t g = 0; g < sources_.size(); ++g) {
    if (sources_[g] != Source::kCpu) continue;
    const PickGroup& group = picks_.groups()[g];
    const std::byte* record =
        inputs_[g].resident ? cache_.slot(slot_of_group_[g])
                            : home_.record(static_cast<uint32_t>(step.moe_layer), static_cast<uint32_t>(group.expert));
    batch_.Add(step, picks_, group, record);
    stats_.picks.cpu.Add(static_cast<uint64_t>(group.picks));
    stats_.late_picks.Add(static_cast<uint64_t>(group.picks));
    (inputs_[g].resident ? stats_.bytes.vram : stats_.bytes.pcie).Add(home_.record_stride());
  }
  batch_.Run(step, kernels::Phase::kDecode);
  timer_.End([this](double seconds) { AddSeconds(stats_.busy_ns.pcie, seconds); });
}

}  // namespace hearth
