#include "gpu_worker/metrics.h"

#include <algorithm>
#include <utility>

#include "common/base/version.h"
#include "common/metrics/process_memory.h"
#include "gpu_worker/request_log.h"

namespace hearth {
namespace {

constexpr StatusCode kErrorCodes[] = {StatusCode::kInvalidArgument,   StatusCode::kDeadlineExceeded,
                                      StatusCode::kResourceExhausted, StatusCode::kFailedPrecondition,
                                      StatusCode::kInternal,          StatusCode::kUnavailable};
constexpr RequestPhase kPhases[] = {RequestPhase::kQueued, RequestPhase::kPrefill, RequestPhase::kDecode,
                                    RequestPhase::kPaused};

// Brings a counter up to a total that is counted elsewhere.
void CatchUp(Counter& counter, double total) {
  if (const double more = total - counter.Value(); more > 0) counter.Increment(more);
}

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

WorkerMetrics::WorkerMetrics(const std::string& mode)
    : running_(metrics_.AddGauge("hearth_requests_running", "Requests that are prefilled or decoded")),
      waiting_(metrics_.AddGauge("hearth_requests_waiting", "Requests in the queue, and paused ones")),
      stop_(
          metrics_.AddCounter("hearth_request_success_total", "Requests that ended well", {{"finish_reason", "stop"}})),
      length_(metrics_.AddCounter("hearth_request_success_total", "Requests that ended well",
                                  {{"finish_reason", "length"}})),
      scored_(metrics_.AddCounter("hearth_request_success_total", "Requests that ended well",
                                  {{"finish_reason", "score"}})),
      prompt_tokens_(metrics_.AddCounter("hearth_prompt_tokens_total", "Tokens that were prefilled")),
      generation_tokens_(metrics_.AddCounter("hearth_generation_tokens_total", "Tokens that were generated")),
      first_token_(metrics_.AddHistogram("hearth_time_to_first_token_seconds", "From arrival to the first token",
                                         RequestSecondsBuckets())),
      token_gap_(metrics_.AddHistogram("hearth_inter_token_latency_seconds", "Between two tokens of a request",
                                       StepSecondsBuckets())),
      queue_wait_(
          metrics_.AddHistogram("hearth_queue_wait_seconds", "From arrival to admission", RequestSecondsBuckets())),
      request_time_(metrics_.AddHistogram("hearth_e2e_request_latency_seconds", "From arrival to the end",
                                          RequestSecondsBuckets())),
      decode_step_(metrics_.AddHistogram("hearth_decode_step_seconds", "One decode step", StepSecondsBuckets())),
      cache_hits_(metrics_.AddCounter("hearth_expert_cache_hits_total", "Experts of decode steps found in a slot")),
      cache_misses_(metrics_.AddCounter("hearth_expert_cache_misses_total", "Experts of decode steps not in a slot")),
      cache_admissions_(metrics_.AddCounter("hearth_expert_cache_admissions_total", "Experts that got a slot")),
      cache_evictions_(metrics_.AddCounter("hearth_expert_cache_evictions_total", "Experts that lost their slot")),
      fetched_ahead_(metrics_.AddCounter("hearth_experts_fetched_ahead_total",
                                         "Experts that decode fetched before their layer had picked")),
      used_ahead_(metrics_.AddCounter("hearth_experts_used_ahead_total", "Experts of those that were then picked")),
      slots_(metrics_.AddGauge("hearth_expert_cache_slots", "Slots of the expert cache")),
      slots_lent_(metrics_.AddGauge("hearth_expert_cache_slots_lent", "Slots lent to prefill")),
      vram_(AddLane("vram")),
      pcie_(AddLane("pcie")),
      cpu_(AddLane("cpu")),
      staged_(AddLane("staged")),
      tier_wanted_(metrics_.AddGauge("hearth_cpu_tier_wanted", "1 when mode and options let decode use cpu_tier")),
      tier_up_(metrics_.AddGauge("hearth_cpu_tier_up", "1 while cpu_tier takes jobs")),
      tier_jobs_(metrics_.AddCounter("hearth_cpu_tier_jobs_total", "Jobs given to cpu_tier")),
      tier_experts_(metrics_.AddCounter("hearth_cpu_tier_experts_total", "Experts in those jobs")),
      tier_timeouts_(metrics_.AddCounter("hearth_cpu_tier_timeouts_total", "Jobs that were late or lost")),
      tier_wait_(metrics_.AddCounter("hearth_cpu_tier_wait_seconds", "Time that steps waited for cpu_tier")),
      load_ratio_(metrics_.AddGauge("hearth_load_progress_ratio", "Part of the model that is loaded")),
      worker_up_(metrics_.AddGauge("hearth_worker_up", "1 while requests are taken")) {
  for (StatusCode code : kErrorCodes) {
    std::string label = StatusCodeName(code);
    std::transform(label.begin(), label.end(), label.begin(), [](unsigned char c) { return std::tolower(c); });
    errors_[code] = &metrics_.AddCounter("hearth_request_errors_total", "Requests that failed", {{"code", label}});
  }
  for (RequestPhase phase : kPhases) {
    cancelled_[static_cast<size_t>(phase)] =
        &metrics_.AddCounter("hearth_cancelled_total", "Requests whose client left", {{"phase", PhaseName(phase)}});
  }
  metrics_
      .AddGauge("hearth_build_info", "Always 1", {{"version", Version()}, {"process", "gpu_worker"}, {"mode", mode}})
      .Set(1);
  AddProcessMemory(metrics_);
  metrics_.OnExpose([this] { Refresh(); });
}

WorkerMetrics::LaneSeries WorkerMetrics::AddLane(const std::string& lane) {
  return {&metrics_.AddCounter("hearth_expert_bytes_total", "Bytes of expert records read", {{"lane", lane}}),
          &metrics_.AddCounter("hearth_lane_busy_seconds_total", "Time spent in the lane", {{"lane", lane}})};
}

void WorkerMetrics::ReadFrom(std::function<WorkerGauges()> read) {
  std::lock_guard lock(read_mutex_);
  read_ = std::move(read);
}

void WorkerMetrics::Refresh() {
  std::lock_guard lock(read_mutex_);
  if (!read_) return;
  const WorkerGauges now = read_();
  running_.Set(static_cast<double>(now.loop.running()));
  waiting_.Set(static_cast<double>(now.loop.waiting + now.loop.counts.paused));
  CatchUp(prompt_tokens_, static_cast<double>(now.loop.counts.prompt_tokens));
  CatchUp(generation_tokens_, static_cast<double>(now.loop.counts.completion_tokens));
  const LaneSnapshot& lanes = now.lanes;
  CatchUp(cache_hits_, static_cast<double>(lanes.cache_hits));
  CatchUp(cache_misses_, static_cast<double>(lanes.cache_misses));
  CatchUp(cache_admissions_, static_cast<double>(lanes.admissions));
  CatchUp(cache_evictions_, static_cast<double>(lanes.evictions));
  CatchUp(fetched_ahead_, static_cast<double>(lanes.ahead_fetched));
  CatchUp(used_ahead_, static_cast<double>(lanes.ahead_used));
  slots_.Set(static_cast<double>(lanes.slots));
  slots_lent_.Set(static_cast<double>(lanes.slots_lent));
  const auto lane = [](LaneSeries& series, uint64_t bytes, uint64_t busy_ns) {
    CatchUp(*series.bytes, static_cast<double>(bytes));
    CatchUp(*series.busy, Seconds(busy_ns));
  };
  lane(vram_, lanes.bytes.vram, lanes.busy_ns.vram);
  lane(pcie_, lanes.bytes.pcie, lanes.busy_ns.pcie);
  lane(cpu_, lanes.bytes.cpu, lanes.busy_ns.cpu);
  lane(staged_, lanes.bytes.staged, lanes.busy_ns.staged);
  tier_wanted_.Set(now.cpu_tier_wanted ? 1 : 0);
  tier_up_.Set(now.cpu_tier_up ? 1 : 0);
  CatchUp(tier_jobs_, static_cast<double>(lanes.cpu_jobs));
  CatchUp(tier_experts_, static_cast<double>(lanes.cpu_experts));
  CatchUp(tier_timeouts_, static_cast<double>(lanes.cpu_timeouts));
  CatchUp(tier_wait_, Seconds(lanes.cpu_wait_ns));
  load_ratio_.Set(now.load_ratio);
  worker_up_.Set(now.ready ? 1 : 0);
}

void WorkerMetrics::Admitted(double queue_seconds) { queue_wait_.Observe(queue_seconds); }
// Tokens are counted by the scheduler and read at exposition.
void WorkerMetrics::Prefilled(int64_t) {}
void WorkerMetrics::FirstToken(double seconds) { first_token_.Observe(seconds); }
void WorkerMetrics::NextToken(double seconds) { token_gap_.Observe(seconds); }
void WorkerMetrics::DecodeStep(double seconds, int64_t) { decode_step_.Observe(seconds); }

void WorkerMetrics::Finished(FinishReason reason, double seconds) {
  (reason == FinishReason::kStop ? stop_ : length_).Increment();
  request_time_.Observe(seconds);
}

void WorkerMetrics::Scored(double seconds) {
  scored_.Increment();
  request_time_.Observe(seconds);
}

void WorkerMetrics::Ended(const RequestSpec& spec, const Outcome& outcome) { LogRequest(spec, outcome); }

void WorkerMetrics::Failed(StatusCode code, RequestPhase phase) {
  if (code == StatusCode::kCancelled) {
    cancelled_[static_cast<size_t>(phase)]->Increment();
  } else if (const auto found = errors_.find(code); found != errors_.end()) {
    found->second->Increment();
  } else {
    errors_.at(StatusCode::kInternal)->Increment();
  }
}

void WorkerMetrics::NotRead(const RequestSpec& spec) {
  cancelled_[static_cast<size_t>(RequestPhase::kDecode)]->Increment();
  LogNotRead(spec);
}

}  // namespace hearth
