#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/metrics/metrics.h"
#include "gpu_worker/experts/lane_stats.h"
#include "gpu_worker/scheduler/loop_observer.h"
#include "gpu_worker/scheduler/step_loop.h"

namespace hearth {

// What is read, rather than counted, at every exposition.
struct WorkerGauges {
  StepLoop::Stats loop;
  LaneSnapshot lanes;
  double load_ratio = 0;
  bool ready = false;
  bool cpu_tier_wanted = false;
  bool cpu_tier_up = false;
};

// Every metric of this process, and the log line of each request. All series exist from the start.
class WorkerMetrics final : public LoopObserver {
 public:
  // `mode`: label of hearth_build_info.
  explicit WorkerMetrics(const std::string& mode);

  // Where the gauges come from; called on the exporter's thread. Replaces the one before; an empty one stops reading.
  void ReadFrom(std::function<WorkerGauges()> read);
  std::string Expose() const { return metrics_.Expose(); }

  void Admitted(double queue_seconds) override;
  void Prefilled(int64_t tokens) override;
  void FirstToken(double seconds) override;
  void NextToken(double seconds) override;
  void DecodeStep(double seconds, int64_t rows) override;
  void Finished(FinishReason reason, double seconds) override;
  void Scored(double seconds) override;
  void Ended(const RequestSpec& spec, const Outcome& outcome) override;
  void Failed(StatusCode code, RequestPhase phase) override;
  void NotRead(const RequestSpec& spec) override;

 private:
  struct LaneSeries {
    Counter* bytes;
    Counter* busy;
  };
  LaneSeries AddLane(const std::string& lane);
  void Refresh();

  Metrics metrics_;
  Gauge& running_;
  Gauge& waiting_;
  Counter& stop_;
  Counter& length_;
  Counter& scored_;
  std::map<StatusCode, Counter*> errors_;
  std::array<Counter*, 4> cancelled_;
  Counter& prompt_tokens_;
  Counter& generation_tokens_;
  Histogram& first_token_;
  Histogram& token_gap_;
  Histogram& queue_wait_;
  Histogram& request_time_;
  Histogram& decode_step_;
  Counter& cache_hits_;
  Counter& cache_misses_;
  Counter& cache_admissions_;
  Counter& cache_evictions_;
  Counter& fetched_ahead_;
  Counter& used_ahead_;
  Gauge& slots_;
  Gauge& slots_lent_;
  LaneSeries vram_, pcie_, cpu_, staged_;
  Gauge& tier_wanted_;
  Gauge& tier_up_;
  Counter& tier_jobs_;
  Counter& tier_experts_;
  Counter& tier_timeouts_;
  Counter& tier_wait_;
  Gauge& load_ratio_;
  Gauge& worker_up_;

  std::mutex read_mutex_;
  std::function<WorkerGauges()> read_;
};

}  // namespace hearth
