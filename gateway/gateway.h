#pragma once

#include <atomic>
#include <vector>

#include "common/base/stop_signal.h"
#include "gateway/config.h"
#include "gateway/http/http_server.h"
#include "gateway/http/router.h"
#include "gateway/metrics.h"
#include "gateway/serving/services.h"
#include "gateway/worker_client/worker_pool.h"

namespace hearth {

// The gateway process: text in, text out, over HTTP. Owns all parts. Comes up without a worker and says so in /health.
class Gateway {
 public:
  // Everything is up and answers, or StartupError.
  explicit Gateway(const GatewayConfig& config);

  // Serves until stopped, then drains: returns once the last request has been answered or its time is over.
  void Serve(const StopSignal& stop);
  void Drain();
  int port() const { return server_.port(); }
  GatewayMetrics& metrics() { return metrics_; }

 private:
  http::HttpResponse Answer(const http::HttpRequest& request);
  void AddRoutes();
  void OnWorkerView(size_t worker, const engine::WorkerView& view);

  const GatewayConfig config_;
  GatewayMetrics metrics_;
  serving::ModelTextHolder text_;
  std::atomic<bool> draining_{false};
  std::vector<std::atomic<bool>> ready_;  // by worker
  engine::WorkerPool workers_;            // its threads use everything above
  serving::Services services_;            // what handlers see of the parts above
  http::Router router_;
  http::HttpServer server_;  // last: its threads use everything above
};

}  // namespace hearth
