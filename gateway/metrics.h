#pragma once

#include <string>

#include "common/base/version.h"
#include "common/metrics/metrics.h"
#include "common/metrics/process_memory.h"

namespace hearth {

// Every metric of this process, in the order of tests/golden/metrics_gateway.txt. Members of a family are its label values.
struct GatewayMetrics {
  Metrics all;

  Gauge& requests_running = all.AddGauge("hearth_requests_running", "Generations that have given a token and go on");
  Gauge& requests_waiting =
      all.AddGauge("hearth_requests_waiting", "Generations sent to the worker that have not given a token yet");

  Counter& success_stop = Success("stop");
  Counter& success_length = Success("length");
  Counter& success_tool_calls = Success("tool_calls");

  Counter& cancelled_queued = Cancelled("queued");
  Counter& cancelled_prefill = Cancelled("prefill");
  Counter& cancelled_decode = Cancelled("decode");
  Counter& cancelled_not_reading = Cancelled("not_reading");

  Counter& prompt_tokens = all.AddCounter("hearth_prompt_tokens_total", "Prompt tokens of generations and scorings");
  Counter& generation_tokens = all.AddCounter("hearth_generation_tokens_total", "Tokens received from the worker");

  Histogram& time_to_first_token = all.AddHistogram(
      "hearth_time_to_first_token_seconds", "From the request's arrival to its first token", RequestSecondsBuckets());
  Histogram& inter_token_latency = all.AddHistogram("hearth_inter_token_latency_seconds",
                                                    "Between two tokens of a generation", StepSecondsBuckets());
  Histogram& queue_wait = all.AddHistogram("hearth_queue_wait_seconds", "In the worker's queue, as the worker says",
                                           RequestSecondsBuckets());
  Histogram& e2e_latency = all.AddHistogram("hearth_e2e_request_latency_seconds",
                                            "From a generation request's arrival to its end", RequestSecondsBuckets());
  Histogram& chunk_write =
      all.AddHistogram("hearth_chunk_write_seconds",
                       "From a streamed token's arrival here to its bytes' way into the socket", StepSecondsBuckets());

  Gauge& build_info = all.AddGauge("hearth_build_info", "Always 1", {{"version", Version()}, {"process", "gateway"}});

  GatewayMetrics() {
    build_info.Set(1);
    // From the start, so that the first burst of them is a rise and not a beginning.
    for (const int status : {400, 429, 500, 503, 504}) Errors(status);
    AddProcessMemory(all);
  }

  // A request that was answered with this HTTP status from 400 on, or ended with an error event (its status then).
  void CountError(int http_status) {
    Errors(http_status).Increment();
  }

  // One series for each worker, by its address.
  Gauge& WorkerUp(const std::string& worker) {
    return all.AddGauge("hearth_worker_up", "1 when the worker answers and is ready", {{"worker", worker}});
  }
  Gauge& LoadProgress(const std::string& worker) {
    return all.AddGauge("hearth_load_progress_ratio", "How much of the model the worker has loaded",
                        {{"worker", worker}});
  }

 private:
  Counter& Errors(int http_status) {
    return all.AddCounter("hearth_request_errors_total", "Requests refused or failed, by HTTP status",
                          {{"code", std::to_string(http_status)}});
  }
  Counter& Success(const char* reason) {
    return all.AddCounter("hearth_request_success_total", "Generations that ended by themselves, by finish reason",
                          {{"finish_reason", reason}});
  }
  Counter& Cancelled(const char* phase) {
    return all.AddCounter("hearth_cancelled_total", "Generations cancelled because the client left or did not read",
                          {{"phase", phase}});
  }
};

}  // namespace hearth
